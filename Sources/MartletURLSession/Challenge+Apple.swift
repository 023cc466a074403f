#if canImport(Darwin)
import Foundation

extension SessionDelegate {
  /// TLS is the system's affair; a challenge of HTTP is answered by the engine, so its response has to come through.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    switch challenge.protectionSpace.authenticationMethod {
    case NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate:
      completionHandler(.performDefaultHandling, nil)
    default: completionHandler(.rejectProtectionSpace, nil)
    }
  }
}
#endif
