@_spi(Toolkit) public import MartletSemantics

/// The certificates that a server sent over TLS, and the result of the system's verification.
///
/// ```swift
/// struct UnknownKey: Error {}
/// var connection = ConnectionConfiguration()
/// connection.tls.serverTrustCheck = { trust, _ in
///   guard trust.isTrusted, trust.host.hasSuffix(".example.com") else { return }
///   guard trust.publicKeyPins.contains(key) else { throw UnknownKey() }
/// }
/// ```
public struct ServerTrust: Sendable, Hashable {
  /// Decides whether requests may be sent to a server: it throws to refuse the server; if it returns, the system
  /// decides.
  ///
  /// It is called before the first request is sent over a new connection whose certificates were not checked yet. It is
  /// not called when a connection is reused. Nor is it called again, during the lifetime of the transport, for another
  /// connection to the same host and port with the same certificates. Requests that begin at the same time may each be
  /// checked. It is also called after the system refused a certificate: the request then fails in any case, with the
  /// error of the check if it throws one.
  ///
  /// The request fails with the error that the check throws. An ``HTTPError`` is not changed; any other error is
  /// wrapped in an error of kind ``HTTPError/Kind/untrustedCertificate``. The `Call` is the one that sends the request.
  ///
  /// Over sockets, the time of the check does not count toward ``RequestOptions/responseTimeout`` of the request that
  /// calls it, only toward its deadline. Other requests that wait for the same server may exceed their timeouts in the
  /// meantime.
  ///
  /// The check must not wait for its own request over the same transport to the same host and port. That request waits
  /// for the connection that is being checked, and thus for the check, until its own time limit. Use another transport
  /// or session for it.
  ///
  /// With a check, TLS sessions are not resumed.
  public typealias Check = @Sendable (ServerTrust, Call) async throws -> Void

  /// The host of the request's URL, in the form of its origin: lower case, in A-labels.
  public let host: String
  /// The port of the request's URL.
  public let port: Int
  /// The certificates that the server sent, in DER (RFC 5280 §4.1), its own first, even if the system refuses them.
  public let certificates: [Data]
  /// Why the system does not trust the server: an unknown authority, a certificate for another host, an expired
  /// certificate, or a key that is not in ``TLSSettings/pinnedPublicKeys``. nil if it trusts the server.
  public let refusal: String?

  /// Makes a trust. For transports only.
  package init(origin: Origin, certificates: [Data], refusal: String?) {
    host = origin.host
    port = origin.port
    self.certificates = certificates
    self.refusal = refusal
  }

  /// Whether the system trusts the server.
  public var isTrusted: Bool { refusal == nil }

  /// The pins of the certificates' public keys, in their order: the base64 of the SHA-256 of each
  /// `SubjectPublicKeyInfo` (RFC 7469 §2.4), as in ``TLSSettings/pinnedPublicKeys``. Certificates that cannot be parsed
  /// are omitted.
  public var publicKeyPins: [String] {
    certificates.compactMap { certificate in
      CertificateSyntax.publicKeyInfo(of: certificate).flatMap { MessageDigest.hash(.sha256, $0) }
        .map { $0.base64EncodedString() }
    }
  }
}
