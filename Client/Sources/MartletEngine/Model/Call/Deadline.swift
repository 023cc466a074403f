@_spi(Toolkit) import MartletSemantics
import Synchronization

/// A time limit for one or several operations. They share one alarm, which is set at the first wait.
///
/// It ends a wait in one of two ways. A type that is known to end its own waits (``DeadlineAware``) is notified when
/// the time is up. All other code, such as an interceptor or the caller's store, runs in a separate task, which is then
/// cancelled and abandoned (``limiting(_:)``): so the deadline also holds against code that ignores cancellation.
@_spi(Toolkit) public final class Deadline: Sendable {
  private let limit: Duration
  private let stopwatch: Stopwatch
  private let waits: Waits
  /// nil before the first wait.
  private let alarm = Mutex<Alarm?>(nil)

  /// Makes a deadline, which counts from now.
  ///
  /// - Parameters:
  ///   - limit: the time from now.
  ///   - subject: the name of the limited operation, for the error's message.
  ///   - clock: measures the time.
  public init(_ limit: Duration, for subject: String = "the call", on clock: any Clock<Duration>) {
    self.limit = limit.bounded
    stopwatch = Stopwatch(clock)
    waits = Waits(limit, for: subject)
  }

  deinit { alarm.withLock { $0 }?.cancel() }

  /// The time that is left; zero after the deadline.
  var remaining: Duration { max(.zero, limit - stopwatch.elapsed) }

  /// Throws `.deadlineExceeded` after the deadline.
  func check() throws(HTTPError) {
    if remaining == .zero { throw waits.error }
  }

  /// Runs work, and throws `.deadlineExceeded` if it does not end in time. The work is then cancelled, and nothing
  /// waits for its end.
  ///
  /// - Parameter discard: gets a value that arrives too late; it is dropped by default.
  public func limiting<Value: Sendable>(
    discarding discard: @escaping @Sendable (Value) -> Void = { _ in },
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let result = OneShot<Value>()
    guard add(result) else { return try await result.wait() }
    let worker = Task {
      do {
        let value = try await work()
        if !result.answer(.success(value)) { discard(value) }
      } catch { result.answer(.failure(error)) }
    }
    defer {
      remove(result)
      worker.cancel()
    }
    return try await result.wait()
  }

  /// Waits for a result, and throws `.deadlineExceeded` if it does not arrive in time.
  func wait<Value>(for result: OneShot<Value>) async throws -> Value {
    defer { remove(result) }
    _ = add(result)
    return try await result.wait()
  }

  /// Adds a wait, which fails if it is not removed in time. After the deadline it fails at once, and the result is
  /// false.
  @_spi(Toolkit) public func add(_ wait: any FailableWait) -> Bool {
    guard waits.add(wait) else { return false }
    alarm.withLock { alarm in
      if alarm == nil { alarm = Alarm(at: limit, on: stopwatch) { [waits] in waits.expire() } }
    }
    return true
  }

  /// Removes a wait that has ended.
  @_spi(Toolkit) public func remove(_ wait: any FailableWait) { waits.remove(wait) }

  /// The waits that the deadline ends. The alarm refers to this object and not to the deadline, whose release cancels
  /// the alarm.
  private final class Waits: Sendable {
    private let limit: Duration
    private let subject: String
    private let state: Mutex<(isExpired: Bool, waits: [any FailableWait])>

    init(_ limit: Duration, for subject: String) {
      self.limit = limit
      self.subject = subject
      state = Mutex((isExpired: limit <= .zero, waits: []))
    }

    /// The error of a wait that the deadline ends.
    var error: HTTPError {
      HTTPError(.deadlineExceeded, "\(subject) took longer than its deadline of \(Quantity.text(limit))")
    }

    func add(_ wait: any FailableWait) -> Bool {
      let isInTime = state.withLock { state in
        if !state.isExpired { state.waits.append(wait) }
        return !state.isExpired
      }
      if !isInTime { wait.fail(error) }
      return isInTime
    }

    func remove(_ wait: any FailableWait) {
      state.withLock { state in
        if let index = state.waits.firstIndex(where: { $0 === wait }) { state.waits.remove(at: index) }
      }
    }

    func expire() {
      let waits = state.withLock { state in
        state.isExpired = true
        defer { state.waits = [] }
        return state.waits
      }
      guard !waits.isEmpty else { return }
      let error = error
      for wait in waits { wait.fail(error) }
    }
  }
}

/// A wait that an error can end.
@_spi(Toolkit) public protocol FailableWait: AnyObject, Sendable {
  /// Ends the wait; does nothing if it has ended.
  func fail(_ error: HTTPError)
}

extension OneShot: FailableWait {
  @_spi(Toolkit) public func fail(_ error: HTTPError) { answer(.failure(error)) }
}

/// A transport, a store or a body's source that can be awaited in the task of a call with a deadline. It either does
/// not wait, or only for operations that end their waits at the deadline. All others need a separate task: see
/// ``Deadline/limiting(_:)``.
@_spi(Transports) public protocol DeadlineAware: Sendable {
  /// Whether its waits end at the deadline; a wrapper returns the answer of the object that it wraps.
  var endsAtDeadline: Bool { get }
}

extension Deadline {
  /// Whether a transport, a store or a body's source is known to end its waits at the deadline of its call.
  static func isKept(by part: Any) -> Bool { (part as? any DeadlineAware)?.endsAtDeadline ?? false }
}

/// A transport around another one. It waits only for that transport, or until the deadline.
protocol TransportLayer: Transport, DeadlineAware {
  var base: any Transport { get }
}

extension TransportLayer {
  var endsAtDeadline: Bool { Deadline.isKept(by: base) }
}

/// A body's source around another one. It waits only for that source.
protocol BodyLayer: EndAwareBody, DeadlineAware {
  var base: any BodySource { get }
}

extension BodyLayer {
  func cancel() { base.cancel() }

  var hasNoRest: Bool { base.isKnownToHaveNoRest }

  var trailers: HTTPFields { base.trailers }

  var endsAtDeadline: Bool { Deadline.isKept(by: base) }
}
