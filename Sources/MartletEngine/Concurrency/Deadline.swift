import MartletSemantics
import Synchronization

/// A time limit for one or several operations. It also ends a wait for work that ignores cancellation.
package final class Deadline: Sendable {
  private let limit: Duration
  private let stopwatch: Stopwatch
  private let waits: Waits
  private let alarm: Alarm?

  /// Makes a deadline, which counts from now.
  ///
  /// - Parameters:
  ///   - limit: the time from now.
  ///   - subject: what the limit is for, in the error's message.
  ///   - clock: measures the time.
  package init(_ limit: Duration, for subject: String = "the call", on clock: any Clock<Duration>) {
    let waits = Waits { HTTPError(.deadlineExceeded, "\(subject) took longer than its deadline of \(limit)") }
    self.limit = limit.bounded
    self.waits = waits
    stopwatch = Stopwatch(clock)
    alarm = limit > .zero ? Alarm(after: limit, on: clock) { waits.expire() } : nil
    if alarm == nil { waits.expire() }
  }

  deinit { alarm?.cancel() }

  /// The time that is left; zero after the deadline.
  var remaining: Duration { max(.zero, limit - stopwatch.elapsed) }

  /// Runs work, and throws `.deadlineExceeded` if it does not end in time. The work is then cancelled and not waited
  /// for.
  package func holding<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let result = OneShot<Value>()
    guard waits.add(result) else { return try await result.wait() }
    let worker = Task {
      do { result.answer(.success(try await work())) } catch { result.answer(.failure(error)) }
    }
    defer {
      waits.remove(result)
      worker.cancel()
    }
    return try await result.wait()
  }

  /// Waits for a result, and throws `.deadlineExceeded` if it does not arrive in time.
  func wait<Value>(for result: OneShot<Value>) async throws -> Value {
    defer { waits.remove(result) }
    _ = waits.add(result)
    return try await result.wait()
  }

  /// The waits that the deadline ends.
  private final class Waits: Sendable {
    private let makeError: @Sendable () -> HTTPError
    private let state = Mutex((isExpired: false, results: [any Failable]()))

    /// - Parameter makeError: makes the error of a wait that the deadline ends.
    init(_ makeError: @escaping @Sendable () -> HTTPError) { self.makeError = makeError }

    /// Adds a wait. After the deadline it fails at once, and false is returned.
    func add(_ result: any Failable) -> Bool {
      let isInTime = state.withLock { state in
        if !state.isExpired { state.results.append(result) }
        return !state.isExpired
      }
      if !isInTime { result.fail(makeError()) }
      return isInTime
    }

    func remove(_ result: any Failable) {
      state.withLock { $0.results.removeAll { $0 === result } }
    }

    func expire() {
      let results = state.withLock { state in
        state.isExpired = true
        defer { state.results = [] }
        return state.results
      }
      guard !results.isEmpty else { return }
      let error = makeError()
      for result in results { result.fail(error) }
    }
  }
}

/// A wait that an error can end, whatever its value is.
private protocol Failable: AnyObject, Sendable {
  func fail(_ error: any Error)
}

extension OneShot: Failable {
  fileprivate func fail(_ error: any Error) { answer(.failure(error)) }
}
