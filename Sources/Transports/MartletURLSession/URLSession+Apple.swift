#if canImport(Darwin)
import MartletEngine

// What URLSession does differently on Apple's platforms and on Linux: the same members are in `URLSession+Linux.swift`.

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
  /// The kind of a code that has another meaning than its name; there is none on Apple's platforms.
  static func platformKind(of code: URLError.Code, hasHead: Bool) -> HTTPError.Kind? { nil }
}
#endif
