#if os(Linux)
public import Foundation
public import FoundationNetworking
public import Martlet

/// A credential that is a certificate with its key, which Foundation does not know on Linux: the answer to a challenge with
/// ``authenticationMethod``.
///
/// ```swift
/// func sapURLSession(
///   _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
///   completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
/// ) {
///   guard challenge.protectionSpace.authenticationMethod == SAPClientCertificate.authenticationMethod else {
///     return completionHandler(.performDefaultHandling)
///   }
///   completionHandler(.use(SAPClientCertificate(pkcs12: container, password: password)))
/// }
/// ```
///
/// The question comes before the first connection to each secure origin, because libcurl cannot wait for it later; the
/// certificate is shown to servers that want one. A container that cannot be read fails the task with a `URLError` whose
/// `underlyingHTTPError` is of kind `.badClientCertificate`, a wrong password with `.badClientCertificatePassword`, and the
/// next request to the origin asks again. Whether a *server* is trusted is decided by libcurl and the system's authorities
/// alone: there is no challenge about it on Linux.
///
/// SAFETY: it has constants only.
public final class SAPClientCertificate: URLCredential, @unchecked Sendable {
  /// `NSURLAuthenticationMethodClientCertificate`, whose name is not available on Linux.
  public static let authenticationMethod = "NSURLAuthenticationMethodClientCertificate"

  /// The certificate, in the engine's terms.
  public let certificate: ClientCertificate

  /// Makes a credential of a certificate in whatever form.
  public init(_ certificate: ClientCertificate) {
    self.certificate = certificate
    super.init(user: "", password: "", persistence: .forSession)
  }

  /// Makes a credential of a PKCS#12 container (`.p12`, `.pfx`) in memory; nothing is read yet.
  public convenience init(pkcs12 container: Data, password: String) {
    self.init(.pkcs12(data: container, password: password))
  }

  /// Makes a credential of a PKCS#12 container in a file; nothing is read yet.
  public convenience init(pkcs12 file: URL, password: String) {
    self.init(.pkcs12(file: file, password: password))
  }

  /// Not supported: a key is not archived.
  public required init?(coder: NSCoder) { nil }
}
#endif
