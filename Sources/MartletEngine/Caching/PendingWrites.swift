import MartletSemantics
import Synchronization

/// The answers that are on their way into a store. What is removed meanwhile must not come in behind its removal: an answer
/// that was asked for before a sign-out, or before a change at the origin.
final class PendingWrites: Sendable {
  private struct State {
    var keys: [UInt64: CacheKey] = [:]
    var lastTicket: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Announces a write, before the request goes out.
  func begin(_ key: CacheKey) -> UInt64 {
    state.withLock { state in
      state.lastTicket += 1
      state.keys[state.lastTicket] = key
      return state.lastTicket
    }
  }

  func isValid(_ ticket: UInt64) -> Bool { state.withLock { $0.keys[ticket] != nil } }

  func end(_ ticket: UInt64) { _ = state.withLock { $0.keys.removeValue(forKey: ticket) } }

  /// Makes the writes invalid that a removal means.
  func invalidate(_ selection: CacheSelection) {
    state.withLock { state in
      switch selection {
      case .entry, .olderThan: break
      case .all: state.keys = [:]
      case .key(let removed): state.keys = state.keys.filter { $0.value != removed }
      case .url(let url): state.keys = state.keys.filter { $0.value.url != url }
      case .partition(let partition): state.keys = state.keys.filter { $0.value.partition != partition }
      }
    }
  }
}
