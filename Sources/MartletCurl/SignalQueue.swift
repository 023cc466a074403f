#if os(Linux)
/// The state between the loop thread and the one task that reads a transfer: a pure machine, held in a lock by
/// ``ResponseStream``. Whether to pause is decided here, under that lock: decided outside, an unpause can be lost.
struct SignalQueue {
  typealias Waiter = CheckedContinuation<(Signal, unpause: Bool), any Error>

  enum Pull {
    case signal(Signal, unpause: Bool)
    case stopped(any Error)
    case wait
  }

  private let highWater: Int
  private var signals: [Signal] = []
  private var first = 0
  /// The bytes that wait to be read.
  private var buffered = 0
  private var isPaused = false
  private var waiter: Waiter?
  private var stopped: (any Error)?
  /// Since when the reader waits, on the loop's clock; nil while it does something else.
  private(set) var waitingSince: UInt64?

  /// - Parameter highWater: how many bytes may wait before the sender is paused; it goes on below a quarter of that.
  init(highWater: Int) { self.highWater = highWater }

  /// The next signal, if there is one.
  mutating func pull() -> Pull {
    if let stopped { return .stopped(stopped) }
    guard first < signals.count else { return .wait }
    let signal = signals[first]
    signals[first] = .sent(0)  // lets go of the chunk now, not when the array is emptied
    first += 1
    if first == signals.count {
      signals.removeAll(keepingCapacity: true)
      first = 0
    }
    buffered -= signal.byteCount
    let unpause = isPaused && buffered <= highWater / 4
    if unpause { isPaused = false }
    return .signal(signal, unpause: unpause)
  }

  /// The next signal, or the continuation is kept until there is one.
  mutating func pull(orWait continuation: Waiter) -> Pull {
    let pull = pull()
    if case .wait = pull {
      waiter = continuation
      waitingSince = MultiLoop.clock()
    }
    return pull
  }

  /// Takes what a turn of the loop brought. Returns whom to wake with what.
  mutating func push(_ batch: [Signal]) -> (Waiter, Pull)? {
    guard stopped == nil else { return nil }
    for signal in batch {
      if case .sent = signal, case .sent? = signals.last, first < signals.count { signals.removeLast() }
      signals.append(signal)
      buffered += signal.byteCount
    }
    guard let waiter else { return nil }
    self.waiter = nil
    waitingSince = nil
    return (waiter, pull())
  }

  /// Whether the sender has to wait, with so many bytes on top of those that are queued.
  mutating func pauses(with pending: Int) -> Bool {
    guard stopped == nil, buffered + pending >= highWater else { return false }
    isPaused = true
    return true
  }

  /// The reader stops: nothing more is delivered. Returns whom to wake.
  mutating func stop(_ error: any Error) -> Waiter? {
    if stopped == nil { stopped = error }
    signals = []
    first = 0
    buffered = 0
    defer { waiter = nil }
    return waiter
  }
}
#endif
