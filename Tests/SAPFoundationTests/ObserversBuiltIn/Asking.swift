import Foundation
import SAPFoundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension SAPURLSession {
  /// A session with these observers.
  static func observed(by observers: any SAPURLSessionObserving...) -> SAPURLSession {
    let session = SAPURLSession()
    for observer in observers { session.register(observer) }
    return session
  }

  @discardableResult
  func get(_ url: URL) async -> Outcome { await outcome(of: url) }

  @discardableResult
  func post(_ url: URL, _ text: String = "{}") async -> Outcome { await outcome(of: .post(url, text)) }
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
