import Dispatch
import MartletEngine
import Synchronization

/// Runs work that keeps a processor busy on threads of its own, because it would block those that run Swift's tasks. A
/// thread that has done its work takes the next one itself: to hand it over from task to task would take it a fifth of
/// the time of decoding thumbnails.
///
/// Each thread is that of a serial queue: those of a concurrent queue are of the pool that Swift's tasks use.
final class DecodingExecutor: Sendable {
  private struct State {
    var freeQueues: [DispatchQueue]
    var waiting = PriorityQueue<@Sendable () -> Void>()
  }

  private let state: Mutex<State>

  init(limit: Int) {
    let queues = (0..<max(1, limit)).map { DispatchQueue(label: "martlet-images-\($0)") }
    state = Mutex(State(freeQueues: queues.reversed()))
  }

  /// The number of pieces of work that wait.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// Runs work on one of the threads, when one is free.
  ///
  /// - Throws: what the work throws, or `CancellationError` if the task is cancelled. Work that has not begun then never does.
  func run<Value: Sendable>(
    _ priority: PriorityBox, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    let result = OneShot<Value>()
    let (number, queue) = state.withLock { state in
      let number = state.waiting.append({ result.answer(Result { try work() }) }, priority)
      return (number, state.freeQueues.popLast())
    }
    if let queue {
      queue.async { [self] in
        while let work = next(on: queue) { work() }
      }
    }
    do { return try await result.wait() } catch {
      _ = state.withLock { $0.waiting.remove(number) }
      throw error
    }
  }

  /// Takes the work that is next. Without any, the queue is free.
  private func next(on queue: DispatchQueue) -> (@Sendable () -> Void)? {
    state.withLock { state in
      let work = state.waiting.removeNext()
      if work == nil { state.freeQueues.append(queue) }
      return work
    }
  }
}
