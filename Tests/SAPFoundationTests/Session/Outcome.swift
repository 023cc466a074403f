import Foundation
import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a handler got.
struct Outcome: Sendable {
  let data: Data?
  let response: URLResponse?
  let error: (any Error)?

  var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }
  var status: Int? { (response as? HTTPURLResponse)?.statusCode }
  var code: URLError.Code? { (error as? URLError)?.code }
}

extension SAPURLSession {
  /// A configuration without cache and cookies of others, so that equal requests of a test do not meet.
  static var plain: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    return configuration
  }

  /// A session that caches nothing.
  static func uncached(_ observers: any SAPURLSessionObserving...) -> SAPURLSession {
    let session = SAPURLSession(configuration: plain)
    for observer in observers { session.register(observer) }
    return session
  }

  func outcome(of url: URL) async -> Outcome { await outcome(of: URLRequest(url: url)) }

  /// Runs a data task to its end.
  func outcome(
    of request: URLRequest, _ prepare: @Sendable (SAPURLSessionTask) -> Void = { _ in }
  ) async -> Outcome {
    await withCheckedContinuation { continuation in
      let task = dataTask(with: request) { data, response, error in
        continuation.resume(returning: Outcome(data: data, response: response, error: error))
      }
      prepare(task)
      task.resume()
    }
  }
}

extension URLRequest {
  init(_ method: String, _ url: URL, body: String? = nil) {
    self.init(url: url)
    httpMethod = method
    httpBody = body.map { Data($0.utf8) }
  }
}
