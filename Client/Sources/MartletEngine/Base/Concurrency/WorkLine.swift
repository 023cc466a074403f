import Synchronization

/// Work that runs in the order of its submission, each piece in a task of its own.
///
/// The line is part of a state behind a lock. A piece takes its turn there (``takeTurn()``), which decides the order.
/// Its task is created after the lock was left, and does the work in ``Turn/run(_:)``.
@_spi(Toolkit) public struct WorkLine: Sendable {
  /// The turn of the last piece; nil if there was none yet.
  public private(set) var last: Turn?

  public init() {}

  /// Adds a piece. Its owner must run the turn, because the pieces after it wait for its end.
  public mutating func takeTurn() -> Turn {
    let turn = Turn(after: last)
    last = turn
    return turn
  }

  /// The turn of a piece.
  public final class Turn: Sendable {
    private struct State {
      /// The turn before this one, until its end.
      var before: Turn?
      /// The tasks that wait for the end; nil after it.
      var waiters: [CheckedContinuation<Void, Never>]? = []
    }

    private let state: Mutex<State>

    fileprivate init(after before: Turn?) { state = Mutex(State(before: before)) }

    /// Does the work after that of all turns before. It does so even if the calling task is cancelled, so that no piece
    /// overtakes another.
    public func run<Value>(_ work: () async throws -> Value) async rethrows -> Value {
      await state.withLock { $0.before }?.wait()
      defer { end() }
      return try await work()
    }

    /// Waits for the end of the work, even if the calling task is cancelled.
    public func wait() async {
      await withCheckedContinuation { waiter in
        let hasEnded = state.withLock { state in
          state.waiters?.append(waiter)
          return state.waiters == nil
        }
        if hasEnded { waiter.resume() }
      }
    }

    private func end() {
      let (waiters, before) = state.withLock { state in (state.waiters.take(), state.before.take()) }
      withExtendedLifetime(before) { for waiter in waiters ?? [] { waiter.resume() } }
    }
  }
}
