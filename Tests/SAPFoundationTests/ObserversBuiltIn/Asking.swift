import Foundation
import SAPFoundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// How a task ended.
struct Ending: Sendable {
  let data: Data?
  let response: URLResponse?
  let error: (any Error)?

  var status: Int? { (response as? HTTPURLResponse)?.statusCode }
}

extension SAPURLSession {
  /// A session with these observers.
  static func observed(by observers: any SAPURLSessionObserving...) -> SAPURLSession {
    let session = SAPURLSession()
    for observer in observers { session.register(observer) }
    return session
  }

  @discardableResult
  func get(_ url: URL) async -> Ending { await ending(of: URLRequest(url: url)) }

  @discardableResult
  func post(_ url: URL, _ text: String = "{}") async -> Ending { await ending(of: .post(url, text)) }

  /// Runs a data task to its end.
  func ending(of request: URLRequest, task prepare: @Sendable (SAPURLSessionTask) -> Void = { _ in }) async -> Ending {
    await withCheckedContinuation { continuation in
      let task = dataTask(with: request) { continuation.resume(returning: Ending(data: $0, response: $1, error: $2)) }
      prepare(task)
      task.resume()
    }
  }
}

extension URLRequest {
  static func post(_ url: URL, _ text: String = "{}") -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = SAPURLSession.HTTPMethod.post
    request.httpBody = Data(text.utf8)
    return request
  }
}

/// What several threads put together.
final class Shared<Value: Sendable>: Sendable {
  private let content: Mutex<Value>

  init(_ value: Value) { content = Mutex(value) }

  var value: Value { content.withLock { $0 } }

  func change(_ body: (inout sending Value) -> sending Void) { content.withLock { body(&$0) } }
}
