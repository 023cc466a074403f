public import MartletEngine
public import MartletSemantics

/// The TLS of a ``LoopbackServer``: its certificate, the versions of HTTP that it offers, and whether it asks for a
/// client certificate.
///
/// ```swift
/// let server = try LoopbackServer(tls: .selfSigned) { _ in .text("hello") }
/// var connection = ConnectionConfiguration()
/// connection.tls.authorities = server.authority?.file
/// let session = HTTPSession(connection: connection)
/// let (text, response) = try await session.text(for: HTTPRequest(.get, server.url("/")))   // over HTTP/2
/// ```
///
/// It needs Linux: on other systems a server with TLS cannot start.
public struct LoopbackTLS: Sendable {
  /// The names and addresses in the server's certificate; `127.0.0.1` and `localhost` by default. A test of a wrong
  /// certificate sets others. A name may begin with `*.`.
  public var hosts = ["127.0.0.1", "localhost"]
  /// The authority that signs the server's certificate, and whose client certificates are accepted. nil, the default,
  /// makes one for each server: ``LoopbackServer/authority``.
  public var authority: LoopbackAuthority?
  /// When the server's certificate is valid; nil, the default, for an hour ago until two days from now.
  public var validity: Range<Date>?
  /// The versions of HTTP that the server offers (ALPN, RFC 7301), in its order of preference; HTTP/2 and HTTP/1.1 by
  /// default. Others than these two are ignored. A client that offers none of them is refused; one that negotiates
  /// nothing gets HTTP/1.1.
  public var protocols: [HTTPVersion] = [.http2, .http1_1]
  /// The only version of TLS; nil, the default, for 1.2 and 1.3.
  public var version: TLSSettings.Version?
  /// Whether the server asks for a client certificate; it does not by default.
  public var clientCertificates = ClientCertificates.notRequested

  /// Whether a server asks for a client certificate. One that ``LoopbackTLS/authority`` has not signed is refused.
  public enum ClientCertificates: Sendable, Hashable {
    /// It does not ask.
    case notRequested
    /// It asks, and serves clients without a certificate, too.
    case requested
    /// It asks, and refuses clients without a certificate.
    case required
  }

  /// A certificate for `127.0.0.1` and `localhost`, signed by an authority that is made for the server.
  public static var selfSigned: LoopbackTLS { LoopbackTLS() }

  /// A certificate for `127.0.0.1`, `localhost` and other names.
  ///
  /// `SocketTransport.Options.addresses` lets a client find such a name here.
  ///
  /// - Parameters:
  ///   - hosts: the other names and addresses.
  ///   - authority: the authority that signs it; nil, the default, makes one for the server.
  public static func selfSigned(for hosts: String..., by authority: LoopbackAuthority? = nil) -> LoopbackTLS {
    var tls = LoopbackTLS()
    tls.hosts += hosts
    tls.authority = authority
    return tls
  }

  /// Returns the authority, or makes one.
  func madeAuthority() throws(LoopbackServerError) -> LoopbackAuthority {
    if let authority { return authority }
    return try LoopbackAuthority()
  }

  /// The facts of a connection's handshake, in ``ReceivedRequest/handshake``.
  public struct Handshake: Sendable, Hashable {
    /// The version of TLS.
    public let version: TLSSettings.Version
    /// The name that the client asked for (SNI, RFC 6066 §3); nil if it sent none, as for an address.
    public let serverName: String?
    /// The subject of the client's certificate: `CN=Ada`. nil if it sent none.
    public let clientSubject: String?
  }
}
