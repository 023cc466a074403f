/// Which step runs next. A pure rule: it calls nothing.
///
/// The steps run in order. The first failure ends the run; an onboarding then resets **all** steps, also those that did
/// not run, in order. A reset cannot fail. An answer of a step that is not the current one changes nothing.
struct FlowPlan: Equatable, Sendable {
  enum Operation: Sendable, Hashable, CaseIterable {
    case onboard
    case restore
    case background
    case resetPasscode
    case reset
  }

  enum Event: Equatable, Sendable {
    case begins
    case succeeded(step: Int)
    case failed(step: Int)
    case wasReset(step: Int)
  }

  enum Action: Equatable, Sendable {
    /// Call this step.
    case run(step: Int)
    /// Reset this step.
    case reset(step: Int)
    /// The run has succeeded.
    case succeed
    /// The run has failed, with the error of the step that failed.
    case fail
    /// There is nothing to do: the answer is late.
    case nothing
  }

  private enum State: Equatable {
    case ready
    case running(step: Int)
    case resetting(step: Int, hasFailed: Bool)
    case finished
  }

  let operation: Operation
  let count: Int
  /// Whether a failure of an onboarding resets the steps.
  let resetsOnError: Bool
  private var state = State.ready

  init(_ operation: Operation, count: Int, resetsOnError: Bool = true) {
    (self.operation, self.count, self.resetsOnError) = (operation, count, resetsOnError)
  }

  mutating func next(after event: Event) -> Action {
    switch (state, event) {
    case (.ready, .begins): operation == .reset ? reset(0, hasFailed: false) : run(0)
    case (.running(let step), .succeeded(let answered)) where answered == step: run(step + 1)
    case (.running(let step), .failed(let answered)) where answered == step:
      operation == .onboard && resetsOnError ? reset(0, hasFailed: true) : finish(.fail)
    case (.resetting(let step, let hasFailed), .wasReset(let answered)) where answered == step:
      reset(step + 1, hasFailed: hasFailed)
    default: .nothing
    }
  }

  private mutating func run(_ step: Int) -> Action {
    guard step < count else { return finish(.succeed) }
    state = .running(step: step)
    return .run(step: step)
  }

  private mutating func reset(_ step: Int, hasFailed: Bool) -> Action {
    guard step < count else { return finish(hasFailed ? .fail : .succeed) }
    state = .resetting(step: step, hasFailed: hasFailed)
    return .reset(step: step)
  }

  private mutating func finish(_ action: Action) -> Action {
    state = .finished
    return action
  }
}

/// When a flow that failed begins again. A delegate that answers `.retry` at once, always, would otherwise keep the
/// processor and the server busy for ever.
struct RetryPlan: Equatable, Sendable {
  /// The number of retries in a row, after which the last error is final.
  static let limit = 20
  private static let first = Duration.milliseconds(100)
  static let longest = Duration.seconds(30)
  private(set) var count = 0

  /// Returns the pause before the next retry, counted from the failure; nil if there were too many. The first retry is
  /// at once. Time in which a user thought about it counts.
  mutating func pause(after thought: Duration) -> Duration? {
    guard count < Self.limit else { return nil }
    defer { count += 1 }
    guard count > 0 else { return .zero }
    let due = min(Self.longest, Self.first * (1 << min(count - 1, 20)))
    return max(.zero, due - thought)
  }
}
