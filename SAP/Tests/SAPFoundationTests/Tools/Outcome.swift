import Foundation
import SAPFoundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The results that a handler received.
struct Outcome: Sendable {
  let data: Data?
  let response: URLResponse?
  let error: (any Error)?

  var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }
  var status: Int? { (response as? HTTPURLResponse)?.statusCode }
  var code: URLError.Code? { (error as? URLError)?.code }
}

extension SAPURLSession {
  /// A configuration without the cache and the cookies of others, so that equal requests of a test do not interfere.
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

  /// Runs a data task to its end, or cancels it when the test's time is up.
  func outcome(
    of request: URLRequest, _ prepare: @Sendable (SAPURLSessionTask) -> Void = { _ in }
  ) async -> Outcome {
    let (outcomes, handler) = AsyncStream.makeStream(of: Outcome.self)
    let task = dataTask(with: request) { data, response, error in
      if case .terminated = handler.yield(Outcome(data: data, response: response, error: error)) {
        Issue.record("the handler was called again, or after the test's time was up")
      }
    }
    prepare(task)
    task.resume()
    for await outcome in outcomes { return outcome }
    task.cancel()
    return Outcome(data: nil, response: nil, error: URLError(.timedOut))
  }
}

extension URLRequest {
  init(_ method: String, _ url: URL, body: String? = nil) {
    self.init(url: url)
    httpMethod = method
    httpBody = body.map { Data($0.utf8) }
  }
}
