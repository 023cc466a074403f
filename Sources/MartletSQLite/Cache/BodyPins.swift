import MartletEngine
import MartletSemantics
import Synchronization

/// The entries whose bodies this process reads or writes at the moment: their chunks stay, whatever becomes of the entry.
final class BodyPins: Sendable {
  private struct State {
    var counts: [CacheEntry.ID: Int] = [:]
    /// Those that would be deleted if nobody held them.
    var awaited: Set<CacheEntry.ID> = []
  }

  private let state = Mutex(State())

  func hold(_ id: CacheEntry.ID) { state.withLock { $0.counts[id, default: 0] += 1 } }

  /// - Returns: Whether somebody waits to delete the body, and may now.
  func release(_ id: CacheEntry.ID) -> Bool {
    state.withLock { state in
      guard let count = state.counts[id], count <= 1 else {
        state.counts[id]? -= 1
        return false
      }
      state.counts[id] = nil
      return state.awaited.remove(id) != nil
    }
  }

  /// How many bodies are held.
  var count: Int { state.withLock { $0.counts.count } }

  /// Those that may be deleted; who releases one of the others last will hear of it.
  func free(_ bodies: [(body: Int64, owner: CacheEntry.ID)]) -> [Int64] {
    state.withLock { state in
      bodies.compactMap { body, owner in
        guard state.counts[owner] != nil else { return body }
        state.awaited.insert(owner)
        return nil
      }
    }
  }
}

/// One hold on a body, until it is let go of.
final class BodyPin: Sendable {
  private let id: CacheEntry.ID
  private let file: CacheFile

  init(_ id: CacheEntry.ID, in file: CacheFile) {
    self.id = id
    self.file = file
    file.pins.hold(id)
  }

  deinit { if file.pins.release(id) { file.tidySoon() } }
}
