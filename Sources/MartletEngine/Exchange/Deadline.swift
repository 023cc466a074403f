import MartletSemantics

/// The end of the time for an exchange: work that is not done by then fails, whether it heeds cancellation or not.
struct Deadline: Sendable {
  private let limit: Duration
  private let sleepUntilEnd: @Sendable () async throws -> Void
  private let timeUntilEnd: @Sendable () -> Duration

  /// - Parameter limit: the time from now.
  init(_ limit: Duration, on clock: any Clock<Duration>) {
    self.limit = limit
    (sleepUntilEnd, timeUntilEnd) = Self.alarm(limit.bounded, on: clock)
  }

  private static func alarm<C: Clock<Duration>>(
    _ limit: Duration, on clock: C
  ) -> (@Sendable () async throws -> Void, @Sendable () -> Duration) {
    let end = clock.now.advanced(by: limit)
    return ({ try await clock.sleep(until: end, tolerance: nil) }, { clock.now.duration(to: end) })
  }

  /// The time that is left; zero when it is up.
  var remaining: Duration { max(.zero, timeUntilEnd()) }

  /// Runs the work, and throws `.deadlineExceeded` if it has not ended in time; it is then cancelled and left alone.
  func holding<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let gate = AnswerGate<Value>()
    let worker = Task {
      do { gate.answer(.success(try await work())) } catch { gate.answer(.failure(error)) }
    }
    let alarm = Task {
      try await sleepUntilEnd()
      gate.answer(.failure(HTTPError(.deadlineExceeded, "the exchange took longer than its deadline of \(limit)")))
    }
    defer {
      alarm.cancel()
      worker.cancel()
    }
    return try await gate.wait()
  }
}
