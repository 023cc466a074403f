@_spi(Toolkit) import MartletEngine
@_spi(Credentials) import SAPFoundation

/// Calls code of an app that answers with a completion handler, and awaits the answer.
///
/// Each call has a thread of its own, which it may block: those that run all tasks are few. The first answer counts,
/// and later ones are logged. Cancelling the task ends the wait, and not the call.
struct ForeignCalls: Sendable {
  /// Has the name of the code in the log.
  struct Callee: Sendable, CustomStringConvertible {
    let description: String
    /// Whether the log tells when there is no answer.
    var isWatched = true

    init(_ object: Any, _ method: StaticString) { description = "\(type(of: object)).\(method)" }
  }

  /// The times after which the log names a callee that has not answered.
  static let delays: [Duration] = [.seconds(5), .seconds(60)]
  static let log = Logger.shared(named: "SAP.Fiori.Flows")

  /// The sign-in of which the called code is a part.
  var opening: SessionOpening?
  var clock: any Clock<Duration> = ContinuousClock()

  /// Calls code with a completion handler.
  ///
  /// - Throws: ``OnboardingFlowError/unanswered(_:)`` if the handler was released without an answer, and
  ///   `CancellationError`.
  func answer<Value: Sendable>(
    of callee: Callee, _ call: @escaping (_ completionHandler: @escaping @Sendable (Value) -> Void) -> Void
  ) async throws -> Value {
    let result = OneShot<Value>()
    let body = UncheckedSendable(value: call)
    let opening = opening
    Thread.detachNewThread {
      let answers = Answers(callee, result)
      let handler: @Sendable (Value) -> Void = { answers.give($0) }
      if let opening { opening.perform { body.value(handler) } } else { body.value(handler) }
    }
    let watchdog = callee.isWatched ? watch(callee, result) : nil
    defer { watchdog?.cancel() }
    return try await result.wait()
  }

  /// Runs code that answers nothing, such as a completion handler of the app.
  func perform(_ work: @escaping @Sendable () -> Void) { Thread.detachNewThread(work) }

  /// Runs work that takes long, or that an app does, and awaits its end.
  func slowly<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    let result: Result<Value, any Error> = try await answer(of: Callee(self, "slowly")) { done in
      done(Result(catching: work))
    }
    return try result.get()
  }

  /// Runs work that an app does, and awaits its end, even if the task was cancelled.
  func settle(_ work: @escaping @Sendable () -> Void) async { await Task { try? await slowly(work) }.value }

  private func watch<Value: Sendable>(_ callee: Callee, _ result: OneShot<Value>) -> Task<Void, Never> {
    Task.detached { [clock] in
      var elapsed = Duration.zero
      for delay in Self.delays {
        guard (try? await clock.sleep(for: delay - elapsed)) != nil, !result.isAnswered else { return }
        elapsed = delay
        Self.log.warn("\(callee) has not called its completion handler for \(delay.components.seconds) s")
      }
    }
  }

  /// The answers of one call. It is released with the completion handler.
  private final class Answers<Value: Sendable>: Sendable {
    private let callee: Callee
    private let result: OneShot<Value>
    private let isGiven = Locked(false)

    init(_ callee: Callee, _ result: OneShot<Value>) { (self.callee, self.result) = (callee, result) }

    func give(_ value: Value) {
      let isFirst = !isGiven.replace(by: true)
      // The first answer may find that nobody waits any more, because the flow was cancelled.
      if result.answer(.success(value)) || isFirst { return }
      ForeignCalls.log.warn("\(callee) has called its completion handler again: the answer is dropped")
    }

    deinit {
      guard result.answer(.failure(OnboardingFlowError.unanswered("\(callee)"))), callee.isWatched else { return }
      ForeignCalls.log.warn("\(callee) has released its completion handler without calling it")
    }
  }
}
