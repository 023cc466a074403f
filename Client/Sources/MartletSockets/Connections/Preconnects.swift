#if os(Linux)
@_spi(Toolkit) import MartletEngine
import MartletSemantics

/// The callers that wait for connections opened ahead of requests.
struct Preconnects {
  private var callers: [ConnectionKey: [(origin: Origin, result: OneShot<Void>)]] = [:]

  var isEmpty: Bool { callers.isEmpty }

  mutating func add(_ result: OneShot<Void>, for key: ConnectionKey, of origin: Origin) {
    callers[key, default: []].append((origin, result))
  }

  /// Records that a connection could not be opened.
  mutating func fail(_ key: ConnectionKey, _ failure: OpeningFailure) {
    guard !callers.isEmpty, let failed = callers.removeValue(forKey: key) else { return }
    for caller in failed { caller.result.answer(.failure(failure.error(for: caller.origin))) }
  }

  /// Resumes the callers of keys for which no more connections are being opened.
  mutating func finish(where isOver: (ConnectionKey) -> Bool) {
    for key in callers.keys.filter(isOver) {
      for caller in callers.removeValue(forKey: key) ?? [] { caller.result.answer(.success(())) }
    }
  }
}
#endif
