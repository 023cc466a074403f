#if os(Linux)
import MartletEngine

// The differences of URLSession between Linux and Apple's platforms: the same members are in `URLSession+Apple.swift`.

extension SessionDelegate {
  /// Ends the transfer. On Linux a challenge comes after its complete response was delivered. With any disposition
  /// other than a credential, the task would never end.
  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    finish(task, nil)
    completionHandler(.cancelAuthenticationChallenge, nil)
  }
}

extension URLSession {
  /// Makes a task that sends the file from mapped memory: if Foundation on Linux reads the file itself, the process
  /// crashes when the task is cancelled in the middle.
  func upload(_ request: URLRequest, file: URL) -> URLSessionTask {
    guard let mapped = try? Data(contentsOf: file, options: .alwaysMapped) else {
      return uploadTask(with: request, fromFile: file)
    }
    return uploadTask(with: request, from: mapped)
  }
}

extension URLSessionTask {
  /// Does nothing: on Linux `suspend()` removes the transfer from libcurl, and `resume()` would begin it again.
  func pauseReceiving() {}

  /// Does nothing.
  func resumeReceiving() {}
}

extension URLSessionFailure {
  /// The kind of an error code whose meaning differs from its name, because it stands for one of libcurl's.
  static func platformKind(of code: URLError.Code, hasHead: Bool) -> HTTPError.Kind? {
    switch code {
    case .unsupportedURL: .protocolViolation  // The URL was checked before, so the response was no HTTP.
    case .badServerResponse: .connectionLost  // The server closed the connection without a response.
    case .unknown where hasHead: .connectionLost  // usually a body that is shorter than its length
    case .dataLengthExceedsMaximum: .invalidRequest  // a GET with a body
    default: nil
    }
  }
}
#endif
