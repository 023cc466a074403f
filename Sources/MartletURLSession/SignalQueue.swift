import Synchronization

/// The queue between URLSession's delegate and the one task that reads a transfer.
final class SignalQueue: Sendable {
  fileprivate typealias Waiter = CheckedContinuation<(Signal, goesOn: Bool), any Error>

  fileprivate struct State {
    var signals: [Signal] = []
    var first = 0
    var buffered = 0
    var isPaused = false
    var hasHead = false
    var waiter: Waiter?
    var stopped: (any Error)?
  }

  private let state = Mutex(State())
  /// How many bytes may wait before the sender is paused, where URLSession can do that; it goes on below a quarter.
  private static let highWater = 1 << 20

  /// Whether the final head was delivered.
  var hasHead: Bool { state.withLock { $0.hasHead } }

  /// Whether the sender should wait now.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// From the delegate: adds a signal. Returns whether the sender has to be paused.
  func deliver(_ signal: Signal) -> Bool {
    let (waiter, pauses) = state.withLock { state in state.push(signal, highWater: Self.highWater) }
    waiter?.resume(returning: (signal, goesOn: false))  // who waits has emptied the queue, so nothing is paused
    return pauses
  }

  /// From the reader: the next signal, and whether the sender has to go on.
  func next() async throws -> (Signal, goesOn: Bool) {
    try await withCheckedThrowingContinuation { (continuation: Waiter) in
      let ready = state.withLock { state -> Result<(Signal, goesOn: Bool), any Error>? in
        let pulled = state.pull(below: Self.highWater / 4)
        if pulled == nil { state.waiter = continuation }
        return pulled
      }
      if let ready { continuation.resume(with: ready) }
    }
  }

  /// Ends it: what was queued is dropped, and whoever waits gets the error. Returns whether it was not over before.
  @discardableResult
  func stop(_ error: any Error) -> Bool {
    let (isFirst, waiter) = state.withLock { state -> (Bool, Waiter?) in
      guard state.stopped == nil else { return (false, nil) }
      state.stopped = error
      state.signals = []
      state.first = 0
      state.buffered = 0
      defer { state.waiter = nil }
      return (true, state.waiter)
    }
    waiter?.resume(throwing: error)
    return isFirst
  }
}

extension SignalQueue.State {
  /// Returns whom to wake with the signal, and whether to pause.
  fileprivate mutating func push(_ signal: Signal, highWater: Int) -> (SignalQueue.Waiter?, Bool) {
    if case .head = signal { hasHead = true }
    guard stopped == nil else { return (nil, false) }
    if let waiter {
      self.waiter = nil
      return (waiter, false)
    }
    if case .sent = signal, case .sent? = signals.last, first < signals.count { signals.removeLast() }
    signals.append(signal)
    buffered += signal.byteCount
    guard buffered >= highWater, !isPaused else { return (nil, false) }
    isPaused = true
    return (nil, true)
  }

  fileprivate mutating func pull(below lowWater: Int) -> Result<(Signal, goesOn: Bool), any Error>? {
    if let stopped { return .failure(stopped) }
    guard first < signals.count else { return nil }
    let signal = signals[first]
    signals[first] = .end  // lets go of the chunk now, not when the array is emptied
    first += 1
    if first == signals.count {
      signals.removeAll(keepingCapacity: true)
      first = 0
    }
    buffered -= signal.byteCount
    let goesOn = isPaused && buffered <= lowWater
    if goesOn { isPaused = false }
    return .success((signal, goesOn: goesOn))
  }
}
