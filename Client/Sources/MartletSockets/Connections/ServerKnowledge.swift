@_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization

/// What a transport has learned about the versions of HTTP that servers speak. Any thread may use it.
final class ServerKnowledge: Sendable {
  /// The servers that did not choose HTTP/2 in their last TLS handshake. Requests to all others are prepared for HTTP/2
  /// only.
  let choosingHTTP1 = NotedOrigins()
  /// The servers that require HTTP/1.1 (RFC 9113 §7, HTTP_1_1_REQUIRED), though they may have chosen HTTP/2.
  let requiringHTTP1 = NotedOrigins()
  /// The servers that do not open WebSockets over HTTP/2, although their SETTINGS say so.
  let refusingHTTP2WebSockets = NotedOrigins()
}

/// Origins with a property that was discovered. It can be discovered again, so only the last 1,000 are kept.
final class NotedOrigins: Sendable {
  private let origins = Mutex(LRUStorage<Origin, Void>(countLimit: 1000))

  func contains(_ origin: Origin) -> Bool { origins.withLock { !$0.isEmpty && $0.contains(origin) } }

  func insert(_ origin: Origin) { origins.withLock { _ = $0.set((), for: origin) } }

  func remove(_ origin: Origin) { origins.withLock { _ = $0.remove(origin) } }

  var isEmpty: Bool { origins.withLock { $0.isEmpty } }
}
