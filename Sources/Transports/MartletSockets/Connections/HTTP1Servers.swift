import MartletEngine
import MartletSemantics
import Synchronization

/// Remembers the servers that did not choose HTTP/2 in their last TLS handshake. Requests to all other servers are
/// prepared for HTTP/2 only. It may be used from any thread.
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

/// Origins with a property that was discovered. It can be discovered again, so old entries may be dropped.
typealias NotedOrigins = LRUStorage<Origin, Void>
