/// The steps for one purpose, with the context that they begin with.
///
/// ```swift
/// let flow = OnboardingFlow(flowType: .onboard, context: OnboardingContext(), steps: steps)
/// ```
///
/// SAFETY: see ``OnboardingContext``; the steps are called one at a time.
public struct OnboardingFlow: @unchecked Sendable {
  /// The purpose of a flow.
  ///
  /// Apps of 2019 switch over the first, second and last case only. In their language mode, Swift 4.2, the others are
  /// not visible, so that these switches compile. No flow has such a purpose unless the app asks for it
  /// (``SingleUserOnboardingIDManager/backgroundMode``).
  @nonexhaustive public enum FlowType: Sendable, Hashable {
    /// A new user begins.
    case onboard
    /// A user who has onboarded returns.
    case restore(onboardingID: UUID)
    /// The app runs without its user.
    @available(swift, introduced: 5)
    case background(onboardingID: UUID)
    /// The user gets a new passcode.
    @available(swift, introduced: 5)
    case resetPasscode(onboardingID: UUID)
    /// The user's data are removed.
    case reset(onboardingID: UUID)
  }

  /// The purpose.
  public let flowType: FlowType
  /// The context: at first the one that the first step gets, and after the flow the last one.
  public var context: OnboardingContext
  /// The steps, in order. They are the same objects before and after the flow.
  public var steps: [any OnboardingStep]

  /// Makes a flow.
  ///
  /// - Parameters:
  ///   - flowType: the purpose.
  ///   - context: the first context; by default a new one, with the identifier of the purpose.
  ///   - steps: the steps, in order.
  public init(flowType: FlowType, context: OnboardingContext? = nil, steps: [any OnboardingStep]) {
    self.flowType = flowType
    self.context = context ?? flowType.onboardingID.map { OnboardingContext(onboardingID: $0) } ?? OnboardingContext()
    self.steps = steps
  }
}

extension OnboardingFlow.FlowType {
  /// The identifier of the user; nil for a new one.
  var onboardingID: UUID? {
    switch self {
    case .onboard: nil
    case .restore(let id), .background(let id), .resetPasscode(let id), .reset(let id): id
    }
  }

  var operation: FlowPlan.Operation {
    switch self {
    case .onboard: .onboard
    case .restore: .restore
    case .background: .background
    case .resetPasscode: .resetPasscode
    case .reset: .reset
    }
  }

  /// The name in messages.
  var name: String { "\(operation)" }
}
