/// A step that keeps a note of what it has stored until the whole flow has succeeded, so that the next run of the
/// program removes it if this one is killed.
protocol FinishingStep: AnyObject {
  /// Removes the note.
  func finish(_ context: OnboardingContext)
}

/// Runs steps as a ``FlowPlan`` says.
struct FlowRun: Sendable {
  let calls: ForeignCalls
  private let steps: [UncheckedSendable<any OnboardingStep>]
  private let plan: FlowPlan
  private let mark: RunMark

  init(
    _ operation: FlowPlan.Operation, _ steps: [any OnboardingStep], resetsOnError: Bool = true,
    calls: ForeignCalls = ForeignCalls(), within parent: RunMark? = nil
  ) {
    mark = RunMark(parent)
    self.steps = steps.map { UncheckedSendable(value: $0) }
    self.calls = calls
    plan = FlowPlan(operation, count: steps.count, resetsOnError: resetsOnError)
  }

  /// Runs the steps, and returns the last context. Cancelling the task ends the current step's wait; an onboarding
  /// resets its steps nevertheless.
  ///
  /// - Throws: the error of the step that failed; ``OnboardingError/cancelled(error:)`` if the task was cancelled.
  func run(from first: OnboardingContext) async throws -> OnboardingContext {
    var plan = plan
    var context = first
    var failure: (any Error)?
    var action = plan.next(after: .begins)
    while true {
      switch action {
      case .run(let step):
        do {
          context = try await answer(of: step, with: context)
          action = plan.next(after: .succeeded(step: step))
        } catch {
          mark.end()
          failure = error is CancellationError ? OnboardingError.cancelled(error: error) : error
          action = plan.next(after: .failed(step: step))
        }
      case .reset(let step):
        await reset(step, with: context)
        action = plan.next(after: .wasReset(step: step))
      case .succeed: return context
      case .fail, .nothing: throw failure ?? OnboardingError.cancelled(error: CancellationError())
      }
    }
  }

  /// Tells the steps that the flow has succeeded as a whole.
  func finish(_ context: OnboardingContext) async {
    await calls.settle { for step in steps { (step.value as? any FinishingStep)?.finish(context) } }
  }

  /// Resets all steps, because the flow failed after its last step.
  func resetAll(with context: OnboardingContext) async {
    for step in steps.indices { await reset(step, with: context) }
  }

  private func answer(of step: Int, with context: OnboardingContext) async throws -> OnboardingContext {
    try Task.checkCancellation()
    if mark.isEnded { throw CancellationError() }
    let object = steps[step]
    let operation = plan.operation
    var callee = ForeignCalls.Callee(object.value, operation.method)
    callee.isWatched = !(object.value is CompositeStep)  // Its own steps are watched.
    let result: OnboardingResult = try await calls.answer(of: callee) { [mark] done in
      RunMark.$current.withValue(mark) {
        switch operation {
        case .onboard, .reset: object.value.onboard(context: context, completionHandler: done)
        case .restore: object.value.restore(context: context, completionHandler: done)
        case .background: object.value.background(context: context, completionHandler: done)
        case .resetPasscode: object.value.resetPasscode(context: context, completionHandler: done)
        }
      }
    }
    return try result.get()
  }

  /// Resets a step, even if the task was cancelled: otherwise half of the user's data would stay.
  private func reset(_ step: Int, with context: OnboardingContext) async {
    let object = steps[step]
    await Task { [calls] in
      do {
        let _: Void = try await calls.answer(of: .init(object.value, "reset")) { done in
          object.value.reset(context: context) { done(()) }
        }
      } catch { ForeignCalls.log.warn("a step was not reset", error: error) }
    }.value
  }
}

/// Whether a run has ended. The runs within it, of ``CompositeStep``s, call no further steps then.
final class RunMark: Sendable {
  /// The run whose step is being called.
  @TaskLocal static var current: RunMark?

  private let parent: RunMark?
  private let ended = Locked(false)

  init(_ parent: RunMark?) { self.parent = parent }

  var isEnded: Bool { ended.value || parent?.isEnded == true }

  func end() { _ = ended.replace(by: true) }
}

extension FlowPlan.Operation {
  fileprivate var method: StaticString {
    switch self {
    case .onboard: "onboard"
    case .restore: "restore"
    case .background: "background"
    case .resetPasscode: "resetPasscode"
    case .reset: "reset"
    }
  }
}
