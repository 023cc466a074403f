#if os(Linux)
import CCurl
import Glibc
import MartletEngine
import Synchronization

/// How other threads reach the loop thread: a queue that is drained whole, and a wake-up that is written only when the loop
/// said that it sleeps.
final class Mailbox: Sendable {
  enum Command: Sendable {
    case start(Transfer)
    case unpause(Transfer)
    /// The reader wants no more; the rest of the body may be read for the connection's sake.
    case giveUp(Transfer)
    /// The request's body failed.
    case fail(Transfer, HTTPError)
    case stop
  }

  private let commands = Mutex<[Command]>([])
  private let isAsleep = Atomic(false)
  /// The descriptor that becomes readable to wake the loop; negative if the system had none.
  let wakeUp = martlet_make_wake_up()

  deinit { close(wakeUp) }

  func submit(_ command: Command) {
    commands.withLock { $0.append(command) }
    if isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
      var one: UInt64 = 1
      _ = write(wakeUp, &one, 8)
    }
  }

  /// From the loop thread: swaps the queue with an empty one, so that both keep their memory.
  func drain(into empty: inout [Command]) {
    commands.withLock { swap(&$0, &empty) }
  }

  /// From the loop thread: whether it may sleep. Saying so first and looking again afterwards is what makes a submission
  /// between the two impossible to miss.
  func mayFallAsleep() -> Bool {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    if commands.withLock({ $0.isEmpty }) { return true }
    awake()
    return false
  }

  func awake() { isAsleep.store(false, ordering: .sequentiallyConsistent) }

  /// From the loop thread, after it was woken.
  func clearWakeUp() {
    var count: UInt64 = 0
    _ = read(wakeUp, &count, 8)
  }
}
#endif
