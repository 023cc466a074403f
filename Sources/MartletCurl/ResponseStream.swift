#if os(Linux)
import Synchronization

/// The queue between the loop thread and the reading task.
final class ResponseStream: Sendable {
  private let queue: Mutex<SignalQueue>

  init(highWater: Int) { queue = Mutex(SignalQueue(highWater: highWater)) }

  /// From the loop thread: hands a turn's signals over.
  func deliver(_ batch: [Signal]) {
    guard let (waiter, pull) = queue.withLock({ $0.push(batch) }) else { return }
    switch pull {
    case .signal(let signal, let unpause): waiter.resume(returning: (signal, unpause))
    case .stopped(let error): waiter.resume(throwing: error)
    case .wait: break
    }
  }

  /// From the loop thread: whether to pause, with so many bytes not yet delivered.
  func pauses(with pending: Int) -> Bool { queue.withLock { $0.pauses(with: pending) } }

  /// From the loop thread: since when the reader waits, nil while it does something else.
  var waitingSince: UInt64? { queue.withLock { $0.waitingSince } }

  /// From the reading task: the next signal, and whether the transfer has to be unpaused.
  func next() async throws -> (Signal, unpause: Bool) {
    switch queue.withLock({ $0.pull() }) {
    case .signal(let signal, let unpause): return (signal, unpause)
    case .stopped(let error): throw error
    case .wait: break
    }
    return try await withCheckedThrowingContinuation { continuation in
      switch queue.withLock({ $0.pull(orWait: continuation) }) {
      case .signal(let signal, let unpause): continuation.resume(returning: (signal, unpause))
      case .stopped(let error): continuation.resume(throwing: error)
      case .wait: break
      }
    }
  }

  /// From the reading task: it wants no more.
  func stop(_ error: any Error) {
    queue.withLock { $0.stop(error) }?.resume(throwing: error)
  }
}
#endif
