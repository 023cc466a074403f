import Foundation
import SAPFioriFlows
import Synchronization

/// The flows of the shop, with the steps in the order of generated apps.
final class ShopFlows: OnboardingFlowProviding {
  private let gateway: URL
  private let screens: Screens
  private let network: Network

  init(_ gateway: URL, _ screens: Screens, _ network: Network) {
    (self.gateway, self.screens, self.network) = (gateway, screens, network)
  }

  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    var context = OnboardingContext(presentationDelegate: screens)
    switch flowType {
    case .onboard:
      completionHandler(OnboardingFlow(flowType: flowType, context: context, steps: onboardingSteps), nil)
    case .restore(let id):
      context.onboardingID = id
      completionHandler(OnboardingFlow(flowType: flowType, context: context, steps: restoringSteps), nil)
    case .reset(let id):
      context.onboardingID = id
      completionHandler(OnboardingFlow(flowType: flowType, context: context, steps: onboardingSteps), nil)
    default: completionHandler(nil, nil)
    }
  }

  private var onboardingSteps: [any OnboardingStep] {
    session + [
      CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload),
      CompositeStep(steps: SAPcpmsDefaultSteps.applyDuringOnboard), consent, StoreManagerStep(),
    ]
  }

  private var restoringSteps: [any OnboardingStep] {
    [StoreManagerStep()] + session + [
      CompositeStep(steps: SAPcpmsDefaultSteps.settingsDownload),
      CompositeStep(steps: SAPcpmsDefaultSteps.applyDuringRestore),
    ]
  }

  private var session: [any OnboardingStep] {
    [
      welcome, CompositeStep(steps: SAPcpmsDefaultSteps.configuration),
      SAPcpmsUserBlockedConfigurationStep(userBlockedHandler: { _ in }), SAPcpmsUserLockAndWipeConfigurationStep(),
      network.step, BasicAuthenticationStep(),
    ]
  }

  private var welcome: any OnboardingStep {
    let transformer = DiscoveryServiceConfigurationTransformer(
      applicationID: "com.example.shop", authenticationPath: "odata/v4")
    let step = WelcomeScreenStep(transformer: transformer, providers: [GatewayConfiguration(gateway: gateway)])
    step.welcomeScreenCustomizationHandler = { screen in
      screen.headlineLabel.text = "Welcome to the shop."
      screen.primaryActionButton.titleLabel?.text = "Begin?"
    }
    return step
  }

  private var consent: any OnboardingStep {
    var page = UserConsentPageContent()
    page.title = "Data Privacy"
    page.body = "The shop keeps your orders."
    return UserConsentStep(userConsentFormsContent: [.init(version: "1.0", isRequired: true, pages: [page])])
  }
}

/// The configuration of the app, which an app on a device has in a file.
private struct GatewayConfiguration: ConfigurationProviding {
  let gateway: URL
  var providerIdentifier: String { "com.example.gateway" }
  var expectedInput: [String: Any] { [:] }

  func provideConfiguration(
    input: [String: Any]
  ) -> (providerSuccess: Bool, configuration: NSDictionary, returnError: (any Error)?) {
    var values: [String: Any] = ["host": gateway.host() ?? "", "protocol": gateway.scheme ?? "http"]
    values["port"] = gateway.port
    return (true, NSDictionary(dictionary: values), nil)
  }
}

/// Resets a user who has forgotten the passcode, or whose app was wiped, and stops at all other errors.
final class ErrorHandler: OnboardingControllerDelegate, Sendable {
  private let screens: Screens
  private let users: UncheckedUsers
  private let say: @Sendable (String) -> Void

  // SAFETY: the manager of users is safe to use on any thread.
  private struct UncheckedUsers: @unchecked Sendable { let manager: MultiUserOnboardingIDManager }

  init(_ screens: Screens, _ users: MultiUserOnboardingIDManager, say: @escaping @Sendable (String) -> Void) {
    (self.screens, self.users, self.say) = (screens, UncheckedUsers(manager: users), say)
  }

  func onboardingController(
    _ controller: any OnboardingControlling, didFail flow: OnboardingFlow, with error: any Error,
    completionHandler: @escaping @Sendable (OnboardingErrorDisposition) -> Void
  ) {
    switch error {
    case StoreManagerError.resetPasscode, StoreManagerError.passcodeRetryLimitReached:
      say("\(error.localizedDescription) The shop begins anew.")
      controller.resetFlow(for: flow.context.onboardingID) { [screens, users] error in
        users.manager.next = .newUser(name: screens.userName)
        completionHandler(error.map { .stop($0) } ?? .retry)
      }
    case LockWipePolicyError.trafficWiped where flow.flowType != .onboard:
      say(Self.wiped)
      controller.resetFlow(for: flow.context.onboardingID) { _ in completionHandler(.stop(error)) }
    default: completionHandler(.stop(error))
    }
  }

  static let wiped = "The administrator has wiped the app: everything of the user is removed."
}

/// What is wrong with the next requests: faults of the gateway, or no network at all.
final class Network: SAPURLSessionObserver {
  private struct State {
    var faults: [String] = []
    /// The number of requests before the network is lost; nil while there is one.
    var requestsLeft: Int?
  }

  private let state = Mutex(State())

  var faults: [String] {
    get { state.withLock { $0.faults } }
    set { state.withLock { $0.faults = newValue } }
  }

  var isFaulty: Bool { state.withLock { !$0.faults.isEmpty || $0.requestsLeft != nil } }

  /// Loses the network after some requests; with nil it is there again.
  func lose(after requests: Int?) { state.withLock { $0.requestsLeft = requests } }

  var step: any OnboardingStep {
    let register: SimpleTaskStep.FlowHandler = { [self] context, done in
      context.sapURLSession.register(self)
      done(.success(context))
    }
    return SimpleTaskStep(onboardHandler: register, restoreHandler: register)
  }

  override func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) {
    let (faults, isLost) = state.withLock { state in
      let isLost = state.requestsLeft == 0
      state.requestsLeft = state.requestsLeft.map { max(0, $0 - 1) }
      return (state.faults, isLost)
    }
    guard !isLost else { return completionHandler(.cancel(URLError(.notConnectedToInternet))) }
    var request = request
    if !faults.isEmpty { request.setValue(faults.joined(separator: ","), forHTTPHeaderField: "X-SAP-Fault") }
    completionHandler(.allow(request))
  }
}
