import MartletSemantics
import Synchronization

/// The servers that did not choose HTTP/2 in the last TLS handshake: for all others, requests are prepared for HTTP/2
/// alone. May be used from every thread.
final class HTTP1Servers: Sendable {
  private let origins = Mutex<Set<Origin>>([])

  func contains(_ origin: Origin) -> Bool { origins.withLock { !$0.isEmpty && $0.contains(origin) } }

  /// A server has chosen a version.
  func note(_ origin: Origin, isHTTP2: Bool) {
    origins.withLock { origins in
      if origins.count >= 1000 { origins.removeAll() }  // their connections write the heads then
      if isHTTP2 { origins.remove(origin) } else { origins.insert(origin) }
    }
  }
}
