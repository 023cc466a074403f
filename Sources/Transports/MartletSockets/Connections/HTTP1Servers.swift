import MartletSemantics
import Synchronization

/// The servers that did not choose HTTP/2 in the last TLS handshake. Requests to all others are prepared for HTTP/2
/// only. Every thread may use it.
final class HTTP1Servers: Sendable {
  private let origins = Mutex<Set<Origin>>([])

  func contains(_ origin: Origin) -> Bool { origins.withLock { !$0.isEmpty && $0.contains(origin) } }

  /// Records which version a server has chosen.
  func note(_ origin: Origin, isHTTP2: Bool) {
    origins.withLock { origins in
      if origins.count >= 1000 { origins.removeAll() }  // Their connections then write the heads.
      if isHTTP2 { origins.remove(origin) } else { origins.insert(origin) }
    }
  }
}
