import Dispatch
import MartletEngine
import Synchronization

/// Lets so much work run at a time, the most urgent first, of equally urgent the first that came.
final class TurnQueue: Sendable {
  private struct Waiter {
    let number: UInt64
    let urgency: Urgency
    let gate: AnswerGate<Int>
  }

  private struct State {
    var free: [Int]
    var waiting: [Waiter] = []
    var lastNumber: UInt64 = 0

    /// The place in `waiting` of the one that is next. Looked for when a turn is free, because urgencies change.
    var next: Int? {
      waiting.indices.max { left, right in
        let (one, other) = (waiting[left], waiting[right])
        let (low, high) = (one.urgency.now, other.urgency.now)
        return low == high ? one.number > other.number : low < high
      }
    }
  }

  private let state: Mutex<State>

  init(limit: Int) { state = Mutex(State(free: Array((0..<max(1, limit)).reversed()))) }

  /// Does the work when its turn comes.
  ///
  /// - Parameter work: gets the number of its turn: none that runs at the same time has the same.
  /// - Throws: what the work throws, or `CancellationError` where the task is cancelled before its turn.
  func run<Value>(_ urgency: Urgency, _ work: (_ turn: Int) async throws -> Value) async throws -> Value {
    let turn = try await take(urgency)
    defer { giveBack(turn) }
    return try await work(turn)
  }

  /// How many wait for their turn.
  var waiting: Int { state.withLock { $0.waiting.count } }

  private func take(_ urgency: Urgency) async throws -> Int {
    let gate = AnswerGate<Int>()
    let (turn, number) = state.withLock { state -> (Int?, UInt64) in
      if let turn = state.free.popLast() { return (turn, 0) }
      state.lastNumber += 1
      state.waiting.append(Waiter(number: state.lastNumber, urgency: urgency, gate: gate))
      return (nil, state.lastNumber)
    }
    if let turn { return turn }
    do { return try await gate.wait() } catch {
      state.withLock { state in state.waiting.removeAll { $0.number == number } }
      throw error
    }
  }

  private func giveBack(_ turn: Int) {
    while true {
      let next = state.withLock { state -> AnswerGate<Int>? in
        guard let index = state.next else {
          state.free.append(turn)
          return nil
        }
        return state.waiting.remove(at: index).gate
      }
      // One that was cancelled at this moment does not take the turn: it is another's.
      guard let next, !next.answer(.success(turn)) else { return }
    }
  }
}

/// Threads for work that keeps a processor busy, so many at a time: those that run Swift's tasks are not for that.
///
/// Each turn has a serial queue of its own: unlike those of a concurrent queue, their threads are not of the pool that Swift's
/// tasks share.
final class WorkThreads: Sendable {
  private let turns: TurnQueue
  private let queues: [DispatchQueue]

  init(limit: Int) {
    turns = TurnQueue(limit: limit)
    queues = (0..<max(1, limit)).map { DispatchQueue(label: "martlet-images-\($0)") }
  }

  /// How many wait for a thread.
  var waiting: Int { turns.waiting }

  /// Does the work on a thread of its own, when its turn comes; throws what the work throws, or `CancellationError`.
  func run<Value: Sendable>(
    _ urgency: Urgency, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await turns.run(urgency) { turn in
      try await withCheckedThrowingContinuation { continuation in
        queues[turn].async { continuation.resume(with: Result { try work() }) }
      }
    }
  }
}
