#if os(Linux)
import Foundation
import FoundationNetworking

extension SessionDelegate {
  /// On Linux a challenge comes after its response was delivered, body and all, and any answer but a credential leaves the
  /// task hanging. The response is whole, so the transfer ends here.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    finish(task, nil)
    completionHandler(.cancelAuthenticationChallenge, nil)
  }
}
#endif
