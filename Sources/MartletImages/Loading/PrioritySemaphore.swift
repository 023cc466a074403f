import Dispatch
import MartletEngine
import Synchronization

/// A priority that may change while the work that has it waits.
final class PriorityBox: Sendable {
  private let value: Atomic<Int>

  init(_ priority: ImagePriority) { value = Atomic(priority.rawValue) }

  var current: Int { value.load(ordering: .relaxed) }

  func set(_ priority: ImagePriority) { value.store(priority.rawValue, ordering: .relaxed) }
}

/// Limits how many operations run at a time. Of those that wait, the one with the highest priority is next; of equal
/// ones, the first.
final class PrioritySemaphore: Sendable {
  private struct Waiter {
    let number: UInt64
    let priority: PriorityBox
    let slot: OneShot<Int>
  }

  private struct State {
    var freeSlots: [Int]
    var waiters: [Waiter] = []
    var lastNumber: UInt64 = 0

    /// The index of the waiter that is next. It is found when a slot is free, because priorities change.
    var next: Int? {
      waiters.indices.max { left, right in
        let (one, other) = (waiters[left], waiters[right])
        let (low, high) = (one.priority.current, other.priority.current)
        return low == high ? one.number > other.number : low < high
      }
    }
  }

  private let state: Mutex<State>

  init(limit: Int) { state = Mutex(State(freeSlots: Array((0..<max(1, limit)).reversed()))) }

  /// Runs an operation in one of the slots, when one is free.
  ///
  /// - Parameter operation: gets the number of its slot, from 0 up to the limit; no other operation has it at the same
  ///   time.
  /// - Throws: what the operation throws, or `CancellationError` if the task is cancelled before it runs.
  func run<Value>(
    _ priority: PriorityBox, _ operation: (_ slot: Int) async throws -> Value
  ) async throws -> Value {
    let slot = try await takeSlot(priority)
    defer { giveBack(slot) }
    return try await operation(slot)
  }

  /// The number of operations that wait.
  var waiting: Int { state.withLock { $0.waiters.count } }

  private func takeSlot(_ priority: PriorityBox) async throws -> Int {
    let waiter = OneShot<Int>()
    let (free, number) = state.withLock { state -> (Int?, UInt64) in
      if let slot = state.freeSlots.popLast() { return (slot, 0) }
      state.lastNumber += 1
      state.waiters.append(Waiter(number: state.lastNumber, priority: priority, slot: waiter))
      return (nil, state.lastNumber)
    }
    if let free { return free }
    do { return try await waiter.wait() } catch {
      state.withLock { state in state.waiters.removeAll { $0.number == number } }
      throw error
    }
  }

  private func giveBack(_ slot: Int) {
    while true {
      let next = state.withLock { state -> OneShot<Int>? in
        guard let index = state.next else {
          state.freeSlots.append(slot)
          return nil
        }
        return state.waiters.remove(at: index).slot
      }
      // a waiter that was cancelled meanwhile does not take the slot
      guard let next, !next.answer(.success(slot)) else { return }
    }
  }
}

/// Runs work that keeps a processor busy on threads of its own, because it would block those that run Swift's tasks.
///
/// Each slot has a serial queue: the threads of a concurrent queue are of the pool that Swift's tasks use.
final class DecodingExecutor: Sendable {
  private let slots: PrioritySemaphore
  private let queues: [DispatchQueue]

  init(limit: Int) {
    slots = PrioritySemaphore(limit: limit)
    queues = (0..<max(1, limit)).map { DispatchQueue(label: "martlet-images-\($0)") }
  }

  /// The number of pieces of work that wait.
  var waiting: Int { slots.waiting }

  /// Runs work on one of the threads, when one is free. Throws what the work throws, or `CancellationError`.
  func run<Value: Sendable>(
    _ priority: PriorityBox, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await slots.run(priority) { slot in
      try await withCheckedThrowingContinuation { continuation in
        queues[slot].async { continuation.resume(with: Result { try work() }) }
      }
    }
  }
}
