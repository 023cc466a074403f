import SAPFioriFlows

/// A session, a step and a provider in the shape of generated apps.
final class ApplicationOnboardingSession: OnboardingSession {
  let step: CatalogStep?

  required init(flow: OnboardingFlow) {
    step = flow.steps.first(where: { $0 is CatalogStep }) as? CatalogStep
    super.init(flow: flow)
  }
}

final class CatalogStep: OnboardingStep {
  func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    completionHandler(.success(context))
  }

  func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    completionHandler(.success(context))
  }
}

final class OnboardingFlowProvider: OnboardingFlowProviding {
  func flow(
    for _: OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, Error?) -> Void
  ) {
    let context = OnboardingContext(sapURLSession: SAPURLSession(configuration: .ephemeral))
    completionHandler(OnboardingFlow(flowType: flowType, context: context, steps: [CatalogStep()]), nil)
  }
}

final class AppDelegate: Sendable {
  static let shared = AppDelegate()
  let sessionManager = OnboardingSessionManager<ApplicationOnboardingSession>(
    presentationDelegate: NoApplicationUI(), flowProvider: OnboardingFlowProvider())
}

extension OnboardingSessionManager {
  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  static var shared: OnboardingSessionManager<ApplicationOnboardingSession>! { AppDelegate.shared.sessionManager }
}

do {
  let flow = try await OnboardingFlowController.onboard(
    on: [CatalogStep()], context: OnboardingContext(sapURLSession: SAPURLSession(configuration: .ephemeral)))
  print(flow.onboardingID, OnboardingSessionManager.shared.state)
} catch { print(error) }
