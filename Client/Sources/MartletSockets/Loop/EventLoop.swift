#if os(Linux)
import CSockets
@_spi(Toolkit) @_spi(Transports) import MartletEngine

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A time that never goes back, even if the clock does: some virtual machines set it back when they are moved.
struct SteadyTime {
  private var last: UInt64 = 0
  /// The total time by which the clock was set back so far.
  private var lost: UInt64 = 0

  /// Returns the steady time for a time of the clock.
  mutating func advance(to clock: UInt64) -> UInt64 {
    if clock < last { lost &+= last - clock }
    last = clock
    return clock &+ lost
  }
}

/// Watches sockets and timers on one thread. It is not `Sendable`: code that has it runs on its thread, or has borrowed
/// the loop's state (``LoopOwnership``).
final class EventLoop {
  /// The time at the beginning of the turn, in nanoseconds on a clock that only goes forward.
  private(set) var now: UInt64
  // SAFETY: as for `TransportCore`.
  @exclusivity(unchecked) private var time = SteadyTime()
  private let epoll: Int32
  @exclusivity(unchecked) private var timers = TimerHeap()
  @exclusivity(unchecked) private var sockets: [Socket?] = []
  /// How many times each place in ``sockets`` was used: an event for an earlier user is recognized and dropped.
  private var generations: [UInt32] = []
  private var freeSlots: [Int] = []
  /// The sockets whose interest has changed since epoll was last updated.
  @exclusivity(unchecked) private var changed: [Socket] = []
  private let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 1024)
  private var isStopped = false
  /// Whether a handler of a socket is being called.
  private(set) var isHandlingEvents = false
  /// Whether the end of the turn left work, such as a failed socket or a resumed task: the next turn then begins at
  /// once.
  private var hasUnfinishedWork = false
  /// Until when the loop's thread sleeps, if it sleeps.
  private var sleepsUntil = UInt64.max

  /// The number that represents the wake-up descriptor in an event.
  private static let wakeUpData = UInt64.max

  /// Makes a descriptor for a ``JobQueue``; negative if the system has none left.
  static func makeWakeUp() -> Int32 { SpareDescriptors.making(martlet_make_wake_up) }

  /// - Parameter wakeUp: the descriptor that ends a wait.
  /// - Throws: an error if the system has no descriptor left.
  init(wakeUp: Int32) throws(HTTPError) {
    now = time.advance(to: Self.clock())
    epoll = SpareDescriptors.making { epoll_create1(Int32(EPOLL_CLOEXEC)) }
    // Edge-triggered: every write ends one wait, and nothing has to be read.
    guard wakeUp >= 0, epoll >= 0,
      martlet_watch(epoll, EPOLL_CTL_ADD, wakeUp, martlet_readable | martlet_edge_triggered, Self.wakeUpData) == 0
    else {
      // All properties are set, so that `deinit` frees them.
      throw HTTPError(.other, "the transport cannot be started: the system has no descriptor left", phase: .preparing)
    }
  }

  deinit {
    if epoll >= 0 { close(epoll) }
    events.deallocate()
  }

  /// The time in nanoseconds, on the clock of ``now``; a virtual machine may set it back.
  @Sendable static func clock() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  /// Does the work of a queue and handles events, until ``stop()``.
  ///
  /// Jobs are taken from the queue before the loop looks for events, and run after these were handled. So when a
  /// request chooses its connection, the loop knows everything that happened on the connections before the request was
  /// submitted.
  ///
  /// - Parameters:
  ///   - ownership: lends the context while the thread sleeps; nil to lend nothing.
  ///   - finishTurn: called at the end of each turn.
  func run<Context>(
    _ queue: JobQueue<Context>, in context: Context,
    lending ownership: (Context) -> LoopOwnership<Context>? = { _ in nil }, finishTurn: (Context) -> Void
  ) {
    var jobs: [JobQueue<Context>.Job] = []
    while !isStopped {
      queue.drain(into: &jobs)
      let mayWait = jobs.isEmpty && !hasUnfinishedWork
      hasUnfinishedWork = false
      if mayWait, queue.mayFallAsleep() {
        sleep(queue, lending: context, by: ownership(context))
      } else {
        handleEvents(waitForEvents(upTo: 0))
      }
      for job in jobs { job(context) }
      jobs.removeAll(keepingCapacity: true)
      while let timer = timers.popDue(at: now) { timer.action() }
      finishTurn(context)
      applyChanges()
    }
  }

  /// Sleeps until there are events or a timer is due. Another thread may borrow the context in the meantime.
  private func sleep<Context>(
    _ queue: JobQueue<Context>, lending context: Context, by ownership: LoopOwnership<Context>?
  ) {
    // An earlier time stays, even if its timer was cancelled. The next request's limit is then later, and a turn on
    // another thread that sets it does not have to wake this one.
    sleepsUntil = min(timers.next, sleepsUntil > now ? sleepsUntil : .max)
    let timeout = milliseconds(until: sleepsUntil)
    // From here on everything belongs to the thread that borrows it, including the time.
    ownership?.offer(context)
    let count = waitForEvents(upTo: timeout)
    // Handlers of the events may submit work. It needs no wake-up, because the next turn takes it.
    queue.awake()
    ownership?.takeBack()
    handleEvents(count)
  }

  /// Begins a turn on a thread that has borrowed the loop. ``applyChanges()`` ends it.
  func beginTurn() { now = time.advance(to: Self.clock()) }

  /// Whether the loop's thread has to be woken after a turn on another one.
  var mustWake: Bool { isStopped || hasUnfinishedWork || timers.next < sleepsUntil }

  /// Makes the next turn begin without waiting.
  func noteUnfinishedWork() { hasUnfinishedWork = true }

  /// Makes ``run(_:in:lending:finishTurn:)`` return at the end of the turn.
  func stop() { isStopped = true }

  /// Sets when a timer is due; the maximum for never.
  func set(_ timer: HeapTimer, to due: UInt64) { timers.set(timer, to: due) }
}

// MARK: - Sockets

extension EventLoop {
  /// Gives a socket its place.
  func add(_ socket: Socket) -> Int {
    if let slot = freeSlots.popLast() {
      sockets[slot] = socket
      return slot
    }
    sockets.append(socket)
    generations.append(0)
    return sockets.count - 1
  }

  /// Removes a socket that is about to be closed.
  func remove(_ socket: Socket) {
    let slot = socket.slot
    sockets[slot] = nil
    generations[slot] &+= 1
    freeSlots.append(slot)
    if socket.watched != [] { _ = martlet_watch(epoll, EPOLL_CTL_DEL, socket.descriptor, 0, 0) }
  }

  /// Notes that a socket's interest has changed; epoll is updated once, at the end of the turn.
  func noteChange(of socket: Socket) { changed.append(socket) }

  /// Ends a turn.
  func applyChanges() {
    var batch: [Socket] = []
    swap(&batch, &changed)
    for socket in batch {
      socket.isChanged = false
      guard socket.isOpen, socket.watched != socket.interest else { continue }
      let operation =
        socket.interest == [] ? EPOLL_CTL_DEL : socket.watched == [] ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
      let data = UInt64(socket.slot) << 32 | UInt64(generations[socket.slot])
      // Without interest it is not watched at all: epoll would report a reset connection again and again.
      if martlet_watch(epoll, operation, socket.descriptor, socket.interest.rawValue, data) == 0 {
        socket.watched = socket.interest
      } else {
        hasUnfinishedWork = true
        socket.handler?.socketFailed(socket, errno)
      }
    }
    batch.removeAll(keepingCapacity: true)
    if changed.isEmpty { swap(&batch, &changed) }  // keeps its memory
  }

  /// Waits, and returns the number of events. It touches nothing that a thread may have borrowed.
  private func waitForEvents(upTo timeout: Int32) -> Int32 {
    epoll_wait(epoll, events.baseAddress, Int32(events.count), timeout)
  }

  private func handleEvents(_ count: Int32) {
    now = time.advance(to: Self.clock())
    guard count > 0, let first = events.baseAddress else { return }
    isHandlingEvents = true
    defer { isHandlingEvents = false }
    for index in 0..<Int(count) {
      let data = martlet_event_data(first + index)
      guard data != Self.wakeUpData else { continue }
      let slot = Int(data >> 32)
      guard slot < sockets.count, let socket = sockets[slot], generations[slot] == UInt32(truncatingIfNeeded: data)
      else { continue }
      let mask = martlet_event_mask(first + index)
      let isBroken = mask & martlet_broken != 0
      // The interest may have ended since: in the handler of an earlier event, or on a thread that borrowed the loop
      // during the wait, for example because it received the end of the connection.
      if socket.interest.contains(.write), mask & martlet_writable != 0 || isBroken {
        socket.handler?.socketIsWritable(socket)
      }
      if socket.isOpen, socket.interest.contains(.read), mask & martlet_readable != 0 || isBroken {
        socket.handler?.socketIsReadable(socket)
      }
    }
  }

  /// The time until `due`, rounded up; -1 for no limit.
  private func milliseconds(until due: UInt64) -> Int32 {
    if due == .max { return -1 }
    let now = time.advance(to: Self.clock())
    return due <= now ? 0 : Int32(clamping: (due - now + 999_999) / 1_000_000)
  }
}
#endif
