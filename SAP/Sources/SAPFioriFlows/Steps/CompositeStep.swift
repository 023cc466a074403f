@_spi(Credentials) import SAPFoundation

/// Runs several steps as one.
///
/// ```swift
/// let step = CompositeStep(steps: SAPcpmsDefaultSteps.configuration)
/// ```
///
/// The first failure ends it. A reset resets all of its steps.
open class CompositeStep: OnboardingStep {
  /// The steps, in order.
  public let steps: [any OnboardingStep]
  private let text = Locked<String?>(nil)

  /// Makes a step.
  public init(steps: [any OnboardingStep]) { self.steps = steps }

  /// What is shown while the steps run; nil, the default, for nothing.
  public var infoScreenText: String? {
    get { text.value }
    set { _ = text.replace(by: newValue) }
  }

  /// The steps, and those of the composite steps among them.
  var allSteps: [any OnboardingStep] { steps.flatMap { ($0 as? CompositeStep)?.allSteps ?? [$0] } }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    run(.onboard, context, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    run(.restore, context, completionHandler)
  }

  open func background(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { run(.background, context, completionHandler) }

  open func resetPasscode(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { run(.resetPasscode, context, completionHandler) }

  open func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    run(.reset, context) { _ in completionHandler() }
  }

  private func run(
    _ operation: FlowPlan.Operation, _ context: OnboardingContext,
    _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    if let infoScreenText, operation != .reset { context.presentationDelegate.setInfoText(infoScreenText) }
    var calls = ForeignCalls()
    calls.opening = SessionOpening.current
    // The run around it resets the steps if it fails.
    let run = FlowRun(operation, steps, resetsOnError: false, calls: calls, within: RunMark.current)
    Task { [calls] in
      let result: OnboardingResult
      do { result = .success(try await run.run(from: context)) } catch { result = .failed(error) }
      calls.perform { completionHandler(result) }
    }
  }
}

extension CompositeStep: FinishingStep {
  func finish(_ context: OnboardingContext) {
    for step in steps { (step as? any FinishingStep)?.finish(context) }
  }
}

/// A step made of closures.
///
/// ```swift
/// let greeting = SimpleTaskStep(
///   onboardHandler: { context, done in
///     print("welcome")
///     done(.success(context))
///   },
///   restoreHandler: { context, done in done(.success(context)) })
/// ```
open class SimpleTaskStep: OnboardingStep {
  /// Does the step, and calls the handler once.
  public typealias FlowHandler = (OnboardingContext, @escaping @Sendable (OnboardingResult) -> Void) -> Void
  /// Removes what the step has stored, and calls the handler once.
  public typealias ResetHandler = (OnboardingContext, @escaping @Sendable () -> Void) -> Void

  private let onboardHandler, restoreHandler, backgroundHandler, resetPasscodeHandler: FlowHandler
  private let resetHandler: ResetHandler

  /// Makes a step.
  ///
  /// - Parameters:
  ///   - onboardHandler: does the step for a new user.
  ///   - restoreHandler: does it for a user who returns.
  ///   - backgroundHandler: does it without the user; by default it changes nothing.
  ///   - resetPasscodeHandler: does it while the user gets a new passcode; by default it changes nothing.
  ///   - resetHandler: removes what the step has stored; by default nothing.
  public init(
    onboardHandler: @escaping FlowHandler, restoreHandler: @escaping FlowHandler,
    backgroundHandler: @escaping FlowHandler = { $1(.success($0)) },
    resetPasscodeHandler: @escaping FlowHandler = { $1(.success($0)) },
    resetHandler: @escaping ResetHandler = { $1() }
  ) {
    (self.onboardHandler, self.restoreHandler) = (onboardHandler, restoreHandler)
    (self.backgroundHandler, self.resetPasscodeHandler) = (backgroundHandler, resetPasscodeHandler)
    self.resetHandler = resetHandler
  }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    onboardHandler(context, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    restoreHandler(context, completionHandler)
  }

  open func background(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { backgroundHandler(context, completionHandler) }

  open func resetPasscode(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { resetPasscodeHandler(context, completionHandler) }

  open func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    resetHandler(context, completionHandler)
  }
}

extension SimpleTaskStep {
  /// Makes handlers of a function that does the same for new and returning users, and in the background.
  convenience init(always work: @escaping @Sendable (inout OnboardingContext) throws -> Void) {
    let handler: FlowHandler = { context, done in
      var context = context
      do { try work(&context) } catch { return done(.failed(error)) }
      done(.success(context))
    }
    self.init(onboardHandler: handler, restoreHandler: handler, backgroundHandler: handler)
  }
}
