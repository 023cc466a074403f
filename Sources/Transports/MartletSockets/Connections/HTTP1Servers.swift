import MartletSemantics
import Synchronization

/// The servers that did not choose HTTP/2 in the last TLS handshake. Requests to all others are prepared for HTTP/2
/// only. Every thread may use it.
final class HTTP1Servers: Sendable {
  private let origins = Mutex(NotedOrigins())

  func contains(_ origin: Origin) -> Bool { origins.withLock { $0.contains(origin) } }

  /// Records which version a server has chosen.
  func note(_ origin: Origin, isHTTP2: Bool) {
    origins.withLock { origins in
      if isHTTP2 { origins.remove(origin) } else { origins.insert(origin) }
    }
  }
}

/// Origins of which something was found out that can be found out again: all are forgotten when there are too many.
struct NotedOrigins {
  private var origins: Set<Origin> = []
  /// The maximum number of origins.
  static let limit = 1000

  var isEmpty: Bool { origins.isEmpty }

  func contains(_ origin: Origin) -> Bool { origins.contains(origin) }

  mutating func insert(_ origin: Origin) {
    if origins.count >= Self.limit { origins.removeAll() }
    origins.insert(origin)
  }

  mutating func remove(_ origin: Origin) { origins.remove(origin) }
}
