public import MartletEngine
public import MartletSemantics

/// A certificate authority for a test, with a new key (P-256). It signs the certificates of servers with
/// ``LoopbackTLS``, and client certificates.
///
/// ```swift
/// let authority = try LoopbackAuthority()
/// var tls = LoopbackTLS.selfSigned(by: authority)
/// tls.clientCertificates = .required
/// let server = try LoopbackServer(tls: tls) { request in .text(request.handshake?.clientSubject ?? "") }   // CN=Ada
///
/// var connection = ConnectionConfiguration()
/// connection.tls.authorities = authority.file
/// connection.tls.clientCertificate = try authority.clientCertificate(named: "Ada")
/// ```
///
/// Private keys stay in memory: those of the authority and of servers leave it never, that of a client only in the
/// returned value. It needs Linux.
public final class LoopbackAuthority: Sendable {
  /// The authority's certificate, in PEM.
  public let certificate: Data
  /// A file with ``certificate``, for ``Martlet/TLSSettings/authorities`` and for other programs. It is in the system's
  /// temporary folder, only its owner can read it, and it is removed when the authority is deallocated.
  public let file: URL
  #if os(Linux)
  let issuer: CertificateIssuer
  #endif

  /// Makes an authority.
  ///
  /// - Throws: ``LoopbackServerError`` if the file cannot be written.
  public init() throws(LoopbackServerError) {
    #if os(Linux)
    issuer = try CertificateIssuer()
    certificate = try issuer.certificate.pem()
    file = try PrivateFile.make(certificate)
    #else
    throw Self.unsupported
    #endif
  }

  deinit { PrivateFile.remove(file) }

  /// Makes a certificate for a client, valid from an hour ago until two days from now.
  ///
  /// - Parameter name: the common name of its subject, of 1 to 64 characters.
  /// - Returns: the certificate with its private key, both in memory.
  /// - Throws: ``LoopbackServerError`` for a name that a certificate cannot have.
  public func clientCertificate(named name: String) throws(LoopbackServerError) -> ClientCertificate {
    #if os(Linux)
    let identity = try issuer.identity(.client(name), validity: nil)
    return .pem(certificate: try identity.certificate.pem(), key: try identity.key.pem())
    #else
    throw Self.unsupported
    #endif
  }

  static let unsupported = LoopbackServerError("a server with TLS needs Linux: leave `tls` out on this system")
}
