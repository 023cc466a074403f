#if os(Linux)
import Dispatch
import MartletEngine
import Synchronization

/// The threads of TLS handshakes. A full handshake computes for longer than a hundred requests take on a loop's thread,
/// where they would wait for it.
///
/// A few threads serve all transports, in the order of the steps. They exist while there is work.
package final class HandshakeThreads: Sendable {
  /// The threads that transports use by default: as many as there are processors, at most four.
  package static let shared = HandshakeThreads(limit: min(4, Processors.available()))

  private struct State {
    let limit: Int
    var running = 0
    /// The work in its order; that before `next` has begun.
    var waiting: [(@Sendable () -> Void)?] = []
    var next = 0

    /// Adds work. Returns whether another thread has to begin.
    mutating func add(_ work: @escaping @Sendable () -> Void) -> Bool {
      waiting.append(work)
      guard running < limit else { return false }
      running += 1
      return true
    }

    /// Takes the next work of a thread; nil if the thread ends.
    mutating func take() -> (@Sendable () -> Void)? {
      if next == waiting.count || next >= 64 && 2 * next >= waiting.count {
        waiting.removeFirst(next)
        next = 0
      }
      guard next < waiting.count else {
        running -= 1
        return nil
      }
      next += 1
      return waiting[next - 1].take()
    }
  }

  private let state: Mutex<State>

  /// - Parameter limit: how many work at a time; at least one.
  package init(limit: Int) { state = Mutex(State(limit: max(1, limit))) }

  /// The number of steps that wait for a thread.
  package var waiting: Int { state.withLock { $0.waiting.count - $0.next } }

  /// Runs work on one of the threads, when one is free.
  package func run(_ work: @escaping @Sendable () -> Void) {
    guard state.withLock({ $0.add(work) }) else { return }
    // The thread of a serial queue: those of a concurrent queue belong to the pool that Swift's tasks use.
    DispatchQueue(label: "martlet-handshakes").async { [self] in
      while let work = state.withLock({ $0.take() }) { work() }
    }
  }
}

/// A step of a handshake: the session computes with all bytes that have arrived.
///
/// The loop's thread does not use the session until it gets the step back.
// SAFETY: `session` and `result` belong to the thread that runs the step, and then to that of the loop.
final class HandshakeStep: @unchecked Sendable {
  let session: TLSSession
  /// Whether the handshake is complete, or why it has failed.
  private(set) var result: Result<Bool, HTTPError> = .success(false)
  private let isNeeded = Atomic(true)

  init(_ session: TLSSession) { self.session = session }

  /// Runs the step, unless it was abandoned. Returns whether it ran.
  @discardableResult
  func run() -> Bool {
    guard isNeeded.load(ordering: .relaxed) else { return false }
    result = Result { () throws(HTTPError) in try session.handshake() }
    return true
  }

  /// Gives up the step with its session: the connection is closed.
  func abandon() { isNeeded.store(false, ordering: .relaxed) }
}
#endif
