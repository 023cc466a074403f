/// A step of onboarding: it shows a screen, signs the user in, downloads settings, opens a store.
///
/// ```swift
/// final class CatalogStep: OnboardingStep {
///   private(set) var catalog: URL?
///
///   func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
///     let settings = context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters
///     catalog = settings?.url(destination: "catalog")
///     completionHandler(.success(context))
///   }
///
///   func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
///     onboard(context: context, completionHandler: completionHandler)
///   }
/// }
/// ```
///
/// A flow calls its steps one after another, never two at once, on a thread of its own that a step may block. Each gets
/// the context that the step before returned. Rules for the completion handlers:
///
/// - **The first answer counts.** Call the handler once, on any thread. A second answer is dropped, and the log names
///   the step.
/// - A step that does not answer stops the flow. The log names it after 5 and after 60 seconds; there is no time limit.
/// - If a step releases the handler without an answer, the flow fails with ``OnboardingFlowError/unanswered(_:)``.
///
/// Write ``AsyncOnboardingStep`` for steps with `async` functions. The objects in a flow may be used on any thread.
public protocol OnboardingStep: AnyObject {
  /// Does the step for a new user.
  func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void)

  /// Does the step for a user who has onboarded in an earlier run of the program.
  func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void)

  /// Does the step without the user. By default it succeeds and changes nothing.
  func background(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void)

  /// Does the step while the user gets a new passcode. By default it succeeds and changes nothing.
  func resetPasscode(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void)

  /// Removes what the step has stored of the user. It is called for all steps of a flow, also for those that never ran.
  /// By default it does nothing.
  func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void)
}

extension OnboardingStep {
  public func background(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { completionHandler(.success(context)) }

  public func resetPasscode(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) { completionHandler(.success(context)) }

  public func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    completionHandler()
  }
}

/// The result of a step, or of a whole flow.
public enum OnboardingResult: Sendable {
  /// The context for the next step.
  case success(OnboardingContext)
  /// The error that ends the flow.
  case failed(any Error)
}

extension OnboardingResult {
  func get() throws -> OnboardingContext {
    switch self {
    case .success(let context): return context
    case .failed(let error): throw error
    }
  }
}

/// A step with `async` functions.
///
/// ```swift
/// final class RolesStep: AsyncOnboardingStep {
///   func onboard(context: OnboardingContext) async throws -> OnboardingContext {
///     guard let settings = context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters else {
///       throw OnboardingError.missingArgument("settings", source: "RolesStep")
///     }
///     let user = try await SAPcpmsUserRoles(sapURLSession: context.sapURLSession, settingsParameters: settings).load()
///     print("Hello", user.userName)
///     return context
///   }
/// }
/// ```
///
/// By default ``restore(context:)`` does what ``onboard(context:)`` does, and ``reset(context:)`` nothing. The task of
/// a function is not cancelled with the flow, whose later steps do not run then.
public protocol AsyncOnboardingStep: OnboardingStep, Sendable {
  /// Does the step for a new user, and returns the context for the next step.
  func onboard(context: OnboardingContext) async throws -> OnboardingContext

  /// Does the step for a user who has onboarded in an earlier run of the program.
  func restore(context: OnboardingContext) async throws -> OnboardingContext

  /// Removes what the step has stored of the user.
  func reset(context: OnboardingContext) async
}

extension AsyncOnboardingStep {
  public func restore(context: OnboardingContext) async throws -> OnboardingContext {
    try await onboard(context: context)
  }

  public func reset(context: OnboardingContext) async {}

  public func onboard(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    Task {
      do { completionHandler(.success(try await onboard(context: context))) } catch {
        completionHandler(.failed(error))
      }
    }
  }

  public func restore(
    context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    Task {
      do { completionHandler(.success(try await restore(context: context))) } catch {
        completionHandler(.failed(error))
      }
    }
  }

  public func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    Task {
      await reset(context: context)
      completionHandler()
    }
  }
}
