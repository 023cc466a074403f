/// Runs steps, without a manager of identifiers and sessions.
///
/// ```swift
/// OnboardingFlowController.onboard(on: steps, context: OnboardingContext(presentationDelegate: screens)) { result in
///   if case .success(let context) = result { print("onboarded", context.onboardingID) }
/// }
/// ```
///
/// Completion handlers are called once, on a thread of the run, which they may block. The forms with `async` end early
/// if their task is cancelled, with ``OnboardingError/cancelled(error:)``.
public final class OnboardingFlowController {
  private init() {}

  private static let running = Locked<[PresentationState]>([])

  /// What the flows of the program are doing: ``PresentationState/general`` if none is running.
  public static var presentationState: PresentationState { running.value.last ?? .general }

  /// Onboards a new user.
  ///
  /// - Parameters:
  ///   - steps: the steps, in order.
  ///   - context: what the first step gets; a new one by default.
  ///   - shouldResetOnError: whether a failure resets all steps before the handler is called; true by default.
  ///   - completionHandler: gets the last context, or the error of the step that failed.
  public static func onboard(
    on steps: [any OnboardingStep], context: OnboardingContext = OnboardingContext(), shouldResetOnError: Bool = true,
    completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    start(.onboard, steps, context, resetsOnError: shouldResetOnError, completionHandler)
  }

  /// Restores a user, whose identifier is that of the context.
  public static func restore(
    on steps: [any OnboardingStep], context: OnboardingContext,
    completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    start(.restore, steps, context, completionHandler)
  }

  /// Removes what the steps have stored of a user, whose identifier is that of the context.
  public static func reset(
    on steps: [any OnboardingStep], context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void
  ) {
    start(.reset, steps, context) { _ in completionHandler() }
  }

  /// Onboards a new user; see ``onboard(on:context:shouldResetOnError:completionHandler:)``.
  public static func onboard(
    on steps: [any OnboardingStep], context: OnboardingContext = OnboardingContext(), shouldResetOnError: Bool = true
  ) async throws -> OnboardingContext {
    let run = FlowRun(.onboard, steps, resetsOnError: shouldResetOnError)
    return try await Self.run(run, .onboard, context)
  }

  /// Restores a user; see ``restore(on:context:completionHandler:)``.
  public static func restore(
    on steps: [any OnboardingStep], context: OnboardingContext
  ) async throws -> OnboardingContext {
    try await run(FlowRun(.restore, steps), .restore, context)
  }

  /// Removes what the steps have stored of a user; see ``reset(on:context:completionHandler:)``.
  public static func reset(on steps: [any OnboardingStep], context: OnboardingContext) async {
    _ = try? await run(FlowRun(.reset, steps), .reset, context)
  }

  private static func start(
    _ operation: FlowPlan.Operation, _ steps: [any OnboardingStep], _ context: OnboardingContext,
    resetsOnError: Bool = true, _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    let calls = ForeignCalls()
    let run = FlowRun(operation, steps, resetsOnError: resetsOnError, calls: calls)
    Task {
      let result: OnboardingResult
      do { result = .success(try await Self.run(run, operation, context)) } catch { result = .failed(error) }
      calls.perform { completionHandler(result) }
    }
  }

  /// Runs steps, and reports it as the presentation state.
  static func run(
    _ run: FlowRun, _ operation: FlowPlan.Operation, _ context: OnboardingContext
  ) async throws -> OnboardingContext {
    let last = try await present(run, operation, context)
    await run.finish(last)
    return last
  }

  /// Runs steps, and reports it as the presentation state. The caller says when the flow is finished.
  static func present(
    _ run: FlowRun, _ operation: FlowPlan.Operation, _ context: OnboardingContext
  ) async throws -> OnboardingContext {
    let state: PresentationState? =
      switch operation {
      case .onboard: .onboarding
      case .restore: .restoring
      default: nil
      }
    guard let state else { return try await run.run(from: context) }
    running.withLock { $0.append(state) }
    await run.calls.settle { context.presentationDelegate.state = state }
    let result: Result<OnboardingContext, any Error>
    do { result = .success(try await run.run(from: context)) } catch { result = .failure(error) }
    running.withLock { running in
      if let index = running.lastIndex(of: state) { running.remove(at: index) }
    }
    await run.calls.settle { context.presentationDelegate.state = .general }
    return try result.get()
  }
}
