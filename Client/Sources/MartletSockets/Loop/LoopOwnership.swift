#if os(Linux)
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Says which thread owns a loop's state: the loop's own, or one that borrows it while the loop's thread sleeps,
/// because waking that thread takes longer than a short piece of work. The owner has exclusive access.
///
/// SAFETY: `context` belongs to the thread that `state` names.
final class LoopOwnership<Context>: @unchecked Sendable {
  private enum State: UInt8, AtomicRepresentable {
    /// The loop's thread works.
    case owned
    /// The loop's thread sleeps.
    case offered
    /// Another thread works.
    case lent
    /// Another thread works, and the loop's thread waits for it.
    case awaited
  }

  private let state = Atomic(State.owned)
  /// The thread that has the context; 0 while it is offered, and before the loop's thread runs.
  private let holder = Atomic<UInt>(0)
  private var context: Context?
  /// Whether another thread has asked for it while it was lent.
  private let isWanted = Atomic(false)
  private let returned = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  /// Becomes readable when the loop's thread waits for the one that works; negative if the system has none left.
  private let interrupt = EventLoop.makeWakeUp()

  init() { sem_init(returned, 0, 0) }

  deinit {
    sem_destroy(returned)
    returned.deallocate()
    if interrupt >= 0 { close(interrupt) }
  }

  /// Called by the loop's thread when it begins to work.
  func begin() { holder.store(pthread_self(), ordering: .relaxed) }

  /// Whether the calling thread has the context. The answer is reliable, because only the thread itself stores its
  /// number.
  var isHeldByThisThread: Bool { holder.load(ordering: .relaxed) == pthread_self() }

  /// Called by the loop's thread before it sleeps.
  func offer(_ context: Context) {
    holder.store(0, ordering: .relaxed)
    self.context = context
    state.store(.offered, ordering: .releasing)
  }

  /// Called by the loop's thread when it was woken. Waits until no other thread has the context.
  func takeBack() {
    while !state.compareExchange(expected: .offered, desired: .owned, ordering: .acquiring).exchanged {
      guard state.compareExchange(expected: .lent, desired: .awaited, ordering: .acquiring).exchanged else { continue }
      var number: UInt64 = 1
      _ = write(interrupt, &number, 8)
      while sem_wait(returned) != 0 {}  // interrupted by a signal
      _ = read(interrupt, &number, 8)
      state.store(.owned, ordering: .relaxed)
      break
    }
    context = nil
    begin()
  }

  /// Returns whether another thread has asked for it since the last call. Called by the thread that has it.
  func wasWanted() -> Bool {
    isWanted.load(ordering: .relaxed) && isWanted.exchange(false, ordering: .relaxed)
  }

  /// Does short work on the calling thread. Returns nil without doing it while the loop's thread or another one works.
  ///
  /// - Parameter work: gets a descriptor that becomes readable when the loop's thread waits for the work to end.
  func borrow<Result>(_ work: (Context, Int32) -> Result) -> Result? {
    let (isLent, before) = state.compareExchange(expected: .offered, desired: .lent, ordering: .acquiring)
    guard isLent, let context else {
      if before == .lent || before == .awaited { isWanted.store(true, ordering: .relaxed) }
      return nil
    }
    begin()
    let result = work(context, interrupt)
    holder.store(0, ordering: .relaxed)
    if !state.compareExchange(expected: .lent, desired: .offered, ordering: .releasing).exchanged {
      sem_post(returned)
    }
    return result
  }
}
#endif
