#if os(Linux)
public import Synchronization

#if canImport(Glibc)
public import Glibc
#elseif canImport(Musl)
public import Musl
#endif

/// The work that other threads submit to a loop. Its wake-up descriptor is written only while the loop sleeps.
///
/// The code is inlinable, so that each loop has a version for its own type of context.
@_spi(Transports) public final class JobQueue<Context>: Sendable {
  /// Work on the loop's thread, with access to the thread's state.
  public typealias Job = @Sendable (Context) -> Void

  @usableFromInline let pending = Mutex<[Job]>([])
  @usableFromInline let isAsleep = Atomic(false)
  /// The descriptor that becomes readable to wake the loop; negative if the system has none left.
  public let wakeUp: Int32

  /// - Parameter wakeUp: a descriptor of `eventfd`, which the queue closes at its end; negative if there is none.
  @inlinable
  public init(wakeUp: Int32) { self.wakeUp = wakeUp }

  @inlinable
  deinit { if wakeUp >= 0 { close(wakeUp) } }

  /// Adds work, to be done in the order of the calls. May be called from every thread.
  @inlinable
  public func submit(_ job: @escaping Job) {
    pending.withLock { $0.append(job) }
    wakeLoop()
  }

  /// Ends the loop's sleep if it sleeps. May be called from every thread.
  @inlinable
  public func wakeLoop() {
    if isAsleep.exchange(false, ordering: .sequentiallyConsistent) {
      var one: UInt64 = 1
      _ = write(wakeUp, &one, 8)
    }
  }

  /// Whether the loop sleeps and nothing has woken it: all work that was submitted is done.
  @inlinable
  public var isIdle: Bool { isAsleep.load(ordering: .acquiring) }

  /// Called by the loop: swaps all jobs with an empty array, so that both arrays keep their memory.
  @inlinable
  public func drain(into empty: inout [Job]) {
    pending.withLock { swap(&$0, &empty) }
  }

  /// Called by the loop: whether it may sleep. It sets the flag before it looks at the jobs, so that it does not miss
  /// one that is added in between.
  @inlinable
  public func mayFallAsleep() -> Bool {
    isAsleep.store(true, ordering: .sequentiallyConsistent)
    if pending.withLock({ $0.isEmpty }) { return true }
    awake()
    return false
  }

  /// Called by the loop when it no longer sleeps.
  @inlinable
  public func awake() { isAsleep.store(false, ordering: .sequentiallyConsistent) }
}
#endif
