@_spi(Toolkit) import MartletEngine
import Synchronization

/// Limits how many operations run at a time. Waiting operations begin by priority.
final class PrioritySemaphore: Sendable {
  private struct State {
    var freeSlots: Int
    var waiters = PriorityQueue<OneShot<Void>>()
  }

  private let state: Mutex<State>

  init(limit: Int) { state = Mutex(State(freeSlots: max(1, limit))) }

  /// Runs an operation when a slot is free.
  ///
  /// - Throws: the operation's error, or `CancellationError` if the task is cancelled before it runs.
  func run<Value>(_ priority: PriorityBox, _ operation: () async throws -> Value) async throws -> Value {
    try await takeSlot(priority)
    defer { giveBackSlot() }
    return try await operation()
  }

  /// The number of operations that wait.
  var waiting: Int { state.withLock { $0.waiters.count } }

  private func takeSlot(_ priority: PriorityBox) async throws {
    let waiter = OneShot<Void>()
    let number = state.withLock { state -> UInt64? in
      guard state.freeSlots == 0 else {
        state.freeSlots -= 1
        return nil
      }
      return state.waiters.append(waiter, priority)
    }
    guard let number else { return }
    do { try await waiter.wait() } catch {
      _ = state.withLock { $0.waiters.remove(number) }
      throw error
    }
  }

  private func giveBackSlot() {
    while true {
      let next = state.withLock { state in
        let next = state.waiters.removeNext()
        if next == nil { state.freeSlots += 1 }
        return next
      }
      // A waiter that was cancelled in the meantime does not take the slot.
      guard let next, !next.element.answer(.success(())) else { return }
    }
  }
}
