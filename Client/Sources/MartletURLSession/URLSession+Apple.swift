#if canImport(Darwin)
import MartletEngine

// The differences of URLSession between Apple's platforms and Linux: the same members are in `URLSession+Linux.swift`.

extension SessionDelegate {
  /// Leaves TLS to the system. The engine answers challenges of HTTP, so their responses are delivered.
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

extension URLSession {
  /// Makes a task that reads the file while it is sent.
  func upload(_ request: URLRequest, file: URL) -> URLSessionTask { uploadTask(with: request, fromFile: file) }
}

extension URLSessionTask {
  /// Stops receiving, so that the server has to wait.
  func pauseReceiving() { suspend() }

  /// Continues to receive.
  func resumeReceiving() { resume() }
}

extension URLSessionFailure {
  /// The kind of an error code whose meaning differs from its name. There is none on Apple's platforms.
  static func platformKind(of code: URLError.Code, hasHead: Bool) -> HTTPError.Kind? { nil }
}
#endif
