import Foundation
import MartletTesting
import SAPFoundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension SAPURLSession {
  /// A session with these observers.
  static func observed(by observers: any SAPURLSessionObserving...) -> SAPURLSession {
    let session = SAPURLSession(configuration: .ephemeral)
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

/// A value that several threads change, and whose changes a test can wait for.
final class Shared<Value: Sendable>: Sendable {
  private struct Content {
    var value: Value
    var waiters: [AsyncStream<Void>.Continuation] = []
  }

  private let content: Mutex<Content>

  init(_ value: Value) { content = Mutex(Content(value: value)) }

  var value: Value { content.withLock { $0.value } }

  func change(_ body: (inout Value) -> Void) {
    let waiters = content.withLock { content in
      body(&content.value)
      return content.waiters
    }
    for waiter in waiters { waiter.yield() }
  }

  /// Returns when the value meets a condition.
  func wait(until isMet: (Value) -> Bool) async {
    let (changes, waiter) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    content.withLock { $0.waiters.append(waiter) }
    if isMet(value) { return }
    for await _ in changes where isMet(value) { return }
  }
}

/// An observer and delegate that opens a gate when it is released.
final class ReleaseSignal: SAPURLSessionObserving, SAPURLSessionDelegate {
  private let released: Gate

  init(_ released: Gate) { self.released = released }

  deinit { released.open() }
}

extension SAPURLSession {
  /// Returns when the callbacks that are queued now have returned.
  func callbacksHaveReturned() async {
    await withCheckedContinuation { continuation in delegateQueue.addOperation { continuation.resume() } }
  }
}
