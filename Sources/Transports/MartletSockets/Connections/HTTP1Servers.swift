import MartletEngine
import MartletSemantics
import Synchronization

/// The servers that did not choose HTTP/2 in the last TLS handshake. Requests to all others are prepared for HTTP/2
/// only. Every thread may use it.
final class HTTP1Servers: Sendable {
  private let origins = Mutex(NotedOrigins(countLimit: 1000))

  func contains(_ origin: Origin) -> Bool { origins.withLock { $0.contains(origin) } }

  /// Records which version a server has chosen.
  func note(_ origin: Origin, isHTTP2: Bool) {
    origins.withLock { origins in
      if isHTTP2 { origins.remove(origin) } else { origins.set((), for: origin) }
    }
  }
}

/// Origins of which something was found out that can be found out again.
typealias NotedOrigins = LRUStorage<Origin, Void>
