import Dispatch
import Synchronization

/// Runs long computations and blocking work on separate threads that a deadline can abandon: decoding received data,
/// deriving a key. Such work would block the threads that run Swift's tasks.
///
/// A wait ends at its deadline, or when its task is cancelled, although its thread still works. That thread is
/// abandoned and replaced, up to twice as many threads as may work at a time. An abandoned thread counts until its work
/// ends. When all are abandoned, further work waits, each piece until its own deadline.
@_spi(Toolkit) public final class WorkerThreads: Sendable {
  private typealias Piece = (number: UInt64, element: @Sendable () -> Void)

  private struct State {
    let limit: Int
    var waiting = PriorityQueue<Int, @Sendable () -> Void>()
    /// The numbers of the running pieces that callers wait for.
    var running: Set<UInt64> = []
    /// How many pieces are running that no caller waits for.
    var leftBehind = 0

    /// Takes the next piece if a thread may run it.
    mutating func begin() -> Piece? {
      // Twice the limit may overflow.
      guard running.count < limit, running.count - limit + leftBehind < limit, let next = waiting.removeNext(in: 0)
      else {
        return nil
      }
      running.insert(next.number)
      return next
    }

    /// Records that the work of a piece has ended.
    mutating func end(_ number: UInt64) {
      if running.remove(number) == nil { leftBehind -= 1 }
    }

    /// Abandons a piece. If it has not begun, it never does.
    mutating func leave(_ number: UInt64) {
      if waiting.remove(number) == nil, running.remove(number) != nil { leftBehind += 1 }
    }
  }

  private static let usualPriority = PriorityBox(0)
  private let name: String
  private let state: Mutex<State>

  /// Makes threads, which start when there is work.
  ///
  /// - Parameters:
  ///   - name: their name, for debuggers.
  ///   - limit: how many work at a time; at least one.
  public init(_ name: String, limit: Int) {
    self.name = name
    state = Mutex(State(limit: max(1, limit)))
  }

  /// The number of pieces of work that wait.
  public var waiting: Int { state.withLock { $0.waiting.count } }

  /// Runs work on one of the threads, when one is free.
  ///
  /// - Parameters:
  ///   - priority: the order in which waiting work begins.
  ///   - deadline: ends the wait, both for a thread and for the work.
  /// - Throws: the error of the work; `.deadlineExceeded`; `CancellationError` if the task is cancelled.
  public func run<Value: Sendable>(
    _ priority: PriorityBox = PriorityBox(0), within deadline: Deadline,
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let result = OneShot<Result<Value, any Error>>()
    let answer = { @Sendable () -> Void in result.answer(.success(Result { try work() })) }
    let (number, piece) = state.withLock { state in (state.waiting.append(answer, priority, in: 0), state.begin()) }
    if let piece { start(piece) }
    let outcome: Result<Value, any Error>
    do { outcome = try await deadline.wait(for: result) } catch {
      let next = state.withLock { state in
        state.leave(number)
        return state.begin()
      }
      if let next { start(next) }
      throw error
    }
    return try outcome.get()
  }

  /// Runs work on one of the threads, when one is free, without a wait or a deadline: the work itself reports its end.
  public func submit(_ work: @escaping @Sendable () -> Void) {
    let piece = state.withLock { state in
      _ = state.waiting.append(work, Self.usualPriority, in: 0)
      return state.begin()
    }
    if let piece { start(piece) }
  }

  /// Starts a thread, which takes one piece after another: handing each over from task to task would take a fifth of
  /// the time of decoding thumbnails.
  ///
  /// It is the thread of a serial queue, because a concurrent queue takes its threads from the pool that Swift's tasks
  /// use.
  private func start(_ piece: Piece) {
    DispatchQueue(label: name).async { [self] in
      var piece = piece
      while true {
        piece.element()
        guard
          let next = state.withLock({ state in
            state.end(piece.number)
            return state.begin()
          })
        else { return }
        piece = next
      }
    }
  }
}
