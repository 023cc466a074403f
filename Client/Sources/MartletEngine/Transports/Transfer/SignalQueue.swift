public import Synchronization

/// A signal in a ``SignalQueue``.
@_spi(Transports) public protocol QueuedSignal: Sendable {
  /// The bytes of the response's body in this signal; 0 for any other signal.
  var byteCount: Int { get }
  /// Whether this signal makes an unread earlier one obsolete, such as a later count of sent bytes.
  func replaces(_ earlier: Self) -> Bool
  /// Whether it is the end of a complete response; false by default.
  var isEnd: Bool { get }
}

@_spi(Transports) extension QueuedSignal {
  /// False.
  public var isEnd: Bool { false }
}

/// The queue between the thread that receives a response and the one task that reads it, with backpressure.
///
/// Whether to pause the sender is decided under the queue's lock. Otherwise the reader could empty the queue in
/// between, and nothing would resume the sender.
///
/// The reader's continuation is taken out of the state under the lock, and resumed once by the code that took it. An
/// unsafe continuation is therefore enough; a checked one would allocate an object for each wait.
///
/// The code is inlinable, so that each transport has a version for its own type of signal. It is public for that reason
/// alone: the compiler does not specialize `package` code in another module.
@_spi(Transports) public final class SignalQueue<Signal: QueuedSignal>: Sendable {
  /// A signal, and whether the sender has to be resumed.
  public typealias Pulled = (signal: Signal, resumesSender: Bool)

  @usableFromInline let state: Mutex<State>
  @usableFromInline let clock: @Sendable () -> UInt64

  /// Makes an empty queue.
  ///
  /// - Parameters:
  ///   - highWater: the number of unread bytes at which the sender is paused; it is resumed at a quarter of that.
  ///   - clock: returns the time for ``waitingSince``; always 0 by default.
  @inlinable
  public init(highWater: Int, clock: @escaping @Sendable () -> UInt64 = { 0 }) {
    state = Mutex(State(highWater: highWater))
    self.clock = clock
  }

  /// Adds signals, and resumes the reader if it waits.
  @inlinable
  public func push(_ batch: [Signal]) {
    guard !batch.isEmpty, let (reader, pull) = state.withLock({ $0.push(batch) }) else { return }
    resume(reader, with: pull)
  }

  /// Adds one signal, and resumes the reader if it waits.
  @inlinable
  public func push(_ signal: Signal) {
    guard let (reader, pull) = state.withLock({ $0.push(signal) }) else { return }
    resume(reader, with: pull)
  }

  @inlinable
  func resume(_ reader: UnsafeContinuation<Pulled, any Error>, with pull: State.Pull) {
    switch pull {
    case .signal(let signal, let resumesSender): reader.resume(returning: (signal, resumesSender))
    case .stopped(let error): reader.resume(throwing: error)
    case .empty: break
    }
  }

  /// Returns the next signal, and whether the sender has to be resumed; nil if there is none now.
  ///
  /// - Throws: the error with which the queue was stopped.
  @inlinable
  public func nextIfReady() throws -> Pulled? {
    switch state.withLock({ $0.pull() }) {
    case .signal(let signal, let resumesSender): return (signal, resumesSender)
    case .stopped(let error): throw error
    case .empty: return nil
    }
  }

  /// Returns the end of the response if that is the next signal; nil otherwise.
  @inlinable
  public func takeEnd() -> Signal? { state.withLock { $0.takeEnd() } }

  /// Returns the next signal, and whether the sender has to be resumed; waits for one if there is none.
  ///
  /// - Throws: the error with which the queue was stopped.
  @inlinable
  public func next() async throws -> Pulled {
    if let ready = try nextIfReady() { return ready }
    return try await withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Pulled, any Error>) in
      switch state.withLock({ $0.pull(orWait: continuation, since: clock()) }) {
      case .signal(let signal, let resumesSender): continuation.resume(returning: (signal, resumesSender))
      case .stopped(let error): continuation.resume(throwing: error)
      case .empty: break
      }
    }
  }

  /// Stops the queue: its signals are dropped, and the reader gets the error, now and in later calls. Only the first
  /// stop counts.
  @inlinable
  public func stop(_ error: any Error) {
    state.withLock { $0.stop(error) }?.resume(throwing: error)
  }

  /// Pauses the sender if the queued bytes and the pending ones are too many.
  ///
  /// - Returns: whether the sender has to pause.
  @inlinable
  public func pauseIfFull(adding pending: Int) -> Bool { state.withLock { $0.pauseIfFull(adding: pending) } }

  /// Pauses the sender if the queued bytes are too many and it is not paused yet.
  ///
  /// - Returns: whether the sender has to pause now.
  @inlinable
  public func pauseOnceIfFull() -> Bool {
    state.withLock { state in !state.isPaused && state.pauseIfFull(adding: 0) }
  }

  /// Whether the sender is paused or about to be.
  @inlinable
  public var isPaused: Bool { state.withLock { $0.isPaused } }

  /// When the reader began to wait for a signal, in the clock's time; nil while it does not wait.
  @inlinable
  public var waitingSince: UInt64? { state.withLock { $0.waitingSince } }
}

extension SignalQueue {
  /// The state that the lock protects.
  @usableFromInline
  struct State {
    @usableFromInline
    enum Pull {
      case signal(Signal, resumesSender: Bool)
      case stopped(any Error)
      case empty
    }

    @usableFromInline let highWater: Int
    @usableFromInline var signals = HeadQueue<Signal>()
    /// The unread bytes.
    @usableFromInline var byteCount = 0
    @usableFromInline var isPaused = false
    @usableFromInline var reader: UnsafeContinuation<Pulled, any Error>?
    @usableFromInline var waitingSince: UInt64?
    @usableFromInline var error: (any Error)?

    @inlinable
    init(highWater: Int) { self.highWater = highWater }

    /// Adds signals. Returns the waiting reader and its result.
    @inlinable
    mutating func push(_ batch: [Signal]) -> (UnsafeContinuation<Pulled, any Error>, Pull)? {
      guard error == nil else { return nil }
      for signal in batch { add(signal) }
      return pullForReader()
    }

    @inlinable
    mutating func add(_ signal: Signal) {
      if let last = signals.last, signal.replaces(last) {
        signals.replaceLast(with: signal)
      } else {
        signals.append(signal)
      }
      byteCount += signal.byteCount
    }

    @inlinable
    mutating func pullForReader() -> (UnsafeContinuation<Pulled, any Error>, Pull)? {
      guard let reader else { return nil }
      self.reader = nil
      waitingSince = nil
      return (reader, pull())
    }

    /// Adds one signal; it goes to a waiting reader directly.
    @inlinable
    mutating func push(_ signal: Signal) -> (UnsafeContinuation<Pulled, any Error>, Pull)? {
      guard error == nil else { return nil }
      guard let reader, signals.isEmpty else {
        add(signal)
        return pullForReader()
      }
      self.reader = nil
      waitingSince = nil
      let resumesSender = isPaused
      isPaused = false
      return (reader, .signal(signal, resumesSender: resumesSender))
    }

    /// Removes the next signal.
    @inlinable
    mutating func pull() -> Pull {
      if let error { return .stopped(error) }
      guard let signal = signals.popFirst() else { return .empty }
      byteCount -= signal.byteCount
      let resumesSender = isPaused && byteCount <= highWater / 4
      if resumesSender { isPaused = false }
      return .signal(signal, resumesSender: resumesSender)
    }

    /// Removes the next signal if it is the end.
    @inlinable
    mutating func takeEnd() -> Signal? { error == nil && signals.head?.isEnd == true ? signals.popFirst() : nil }

    /// Removes the next signal, or keeps the reader until there is one.
    @inlinable
    mutating func pull(orWait reader: UnsafeContinuation<Pulled, any Error>, since now: UInt64) -> Pull {
      let pull = pull()
      if case .empty = pull {
        self.reader = reader
        waitingSince = now
      }
      return pull
    }

    @inlinable
    mutating func pauseIfFull(adding pending: Int) -> Bool {
      guard error == nil, byteCount + pending >= highWater else { return false }
      isPaused = true
      return true
    }

    /// Returns the waiting reader.
    @inlinable
    mutating func stop(_ error: any Error) -> UnsafeContinuation<Pulled, any Error>? {
      if self.error == nil { self.error = error }
      signals.removeAll()
      byteCount = 0
      defer { reader = nil }
      return reader
    }
  }
}
