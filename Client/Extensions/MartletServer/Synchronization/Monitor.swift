@_spi(Toolkit) import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A state behind a lock, for threads that block until it meets a condition. Tasks use an ``Awaitable``.
///
/// SAFETY: `state` is only used with the mutex locked, and the two pointers do not change.
final class Monitor<State: Sendable>: @unchecked Sendable {
  private var state: State
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init(_ state: State) {
    self.state = state
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(changed, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    pthread_cond_destroy(changed)
    mutex.deallocate()
    changed.deallocate()
  }

  /// Changes the state, and wakes the threads that wait.
  @discardableResult
  func update<Outcome>(_ change: (inout State) -> Outcome) -> Outcome {
    pthread_mutex_lock(mutex)
    defer {
      pthread_mutex_unlock(mutex)
      pthread_cond_broadcast(changed)
    }
    return change(&state)
  }

  /// Blocks until the closure returns an outcome; nil if it does not in time.
  func wait<Outcome>(until deadline: ContinuousClock.Instant? = nil, for outcome: (inout State) -> Outcome?) -> Outcome?
  {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    while true {
      if let result = outcome(&state) { return result }
      guard let deadline else {
        pthread_cond_wait(changed, mutex)
        continue
      }
      let rest = (deadline - .now).bounded.components
      guard rest.seconds >= 0, rest.seconds > 0 || rest.attoseconds > 0 else { return nil }
      // The condition's clock is the one of the day, which may be set: at most a second is waited at once.
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      let nanoseconds = rest.seconds > 0 ? 1_000_000_000 : Int(rest.attoseconds / 1_000_000_000) + 1
      let sum = Int(time.tv_nsec) + nanoseconds
      time.tv_sec += sum / 1_000_000_000
      time.tv_nsec = sum % 1_000_000_000
      pthread_cond_timedwait(changed, mutex, &time)
    }
  }
}
