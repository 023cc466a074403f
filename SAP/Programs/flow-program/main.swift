import SAPFioriFlows

// A program that onboards a user or restores one, for tests that need a separate process, and kill it.
//
//     flow-program SERVICE [--stop N] [--remove]
//
// It prints "at N" before step N, counted from 0, and then waits for ever; after the last step, and once the user is
// known, there are two more numbers. Otherwise it prints what it did. With --remove, it removes the user in the end,
// and N is a step of that.

/// Answers as a user who agrees to everything, on the service of a test.
final class User: FlowPresentationDelegate, WelcomeDeciding, ConsentDeciding, PasscodeDeciding,
  BasicCredentialDiscovery, Sendable
{
  var state: PresentationState {
    get { .general }
    set {}
  }

  func setInfoText(_ text: String) {}

  func decideStart(_ screen: any WelcomeStepUI, completionHandler: @escaping @Sendable (WelcomeDecision) -> Void) {
    completionHandler(.start)
  }

  func decideConsent(to form: UserConsentFormContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    completionHandler(true)
  }

  func decideLicence(_ licence: EULAContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    completionHandler(true)
  }

  func decideDataCollection(completionHandler: @escaping @Sendable (Bool) -> Void) { completionHandler(true) }

  func choosePasscode(
    for policy: PasscodePolicy, violations: [PasscodePolicy.Violation],
    completionHandler: @escaping @Sendable (PasscodeDecision) -> Void
  ) { completionHandler(.passcode("secret-passcode")) }

  func enterPasscode(attemptsLeft: Int?, completionHandler: @escaping @Sendable (PasscodeDecision) -> Void) {
    completionHandler(.passcode("secret-passcode"))
  }

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) { completionHandler(BasicCredential(username: "anna", password: "secret-password"), nil) }
}

struct Configuration: ConfigurationProviding {
  let service: URL
  var providerIdentifier: String { "argument" }
  var expectedInput: [String: Any] { [:] }

  func provideConfiguration(
    input: [String: Any]
  ) -> (providerSuccess: Bool, configuration: NSDictionary, returnError: (any Error)?) {
    let values: [String: Any] = ["host": service.host() ?? "", "port": service.port ?? 80, "protocol": "http"]
    return (true, NSDictionary(dictionary: values), nil)
  }
}

/// Waits for ever, so that a test can kill the program here.
func wait(at number: Int) -> Never {
  print("at \(number)")
  fflush(nil)
  while true { sleep(1000) }
}

/// The flows of a generated app, with each step of its lists as a step of its own.
final class Flows: OnboardingFlowProviding, OnboardingControllerDelegate, Sendable {
  let service: URL
  /// The number of the step before which the program waits.
  let stop: Int?
  let removes: Bool

  init(_ service: URL, _ stop: Int?, removes: Bool) {
    (self.service, self.stop, self.removes) = (service, stop, removes)
  }

  private var welcome: any OnboardingStep {
    let transformer = DiscoveryServiceConfigurationTransformer(
      applicationID: "com.example.shop", authenticationPath: "mobileservices/application/com.example.shop/endpoints")
    return WelcomeScreenStep(transformer: transformer, providers: [Configuration(service: service)])
  }

  private var user: [any OnboardingStep] {
    [welcome] + SAPcpmsDefaultSteps.configuration + [BasicAuthenticationStep()] + SAPcpmsDefaultSteps.settingsDownload
  }

  private var consents: [any OnboardingStep] {
    let licence = EULAContent(title: "Licence", content: NSAttributedString(string: "Text"), version: "1")
    let form = UserConsentFormContent(version: "1", isRequired: true, pages: [])
    return [
      EULAStep(eulaContent: licence), UserConsentStep(userConsentFormsContent: [form]), DataCollectionConsentStep(),
    ]
  }

  private var onboarding: [any OnboardingStep] {
    user + SAPcpmsDefaultSteps.applyDuringOnboard + consents + [StoreManagerStep()]
  }

  private var restoring: [any OnboardingStep] {
    [StoreManagerStep()] + user + SAPcpmsDefaultSteps.applyDuringRestore + [DataCollectionConsentStep()]
  }

  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    var steps = onboarding
    var context = OnboardingContext(presentationDelegate: User())
    var name = "onboard"
    switch flowType {
    case .restore(let id): (steps, context.onboardingID, name) = (restoring, id, "restore")
    case .reset(let id): (context.onboardingID, name) = (id, "reset")
    default: break
    }
    print(name, "of", steps.count)
    if let stop, stop <= steps.count, removes == (name == "reset") { steps.insert(waiting(stop), at: stop) }
    completionHandler(OnboardingFlow(flowType: flowType, context: context, steps: steps), nil)
  }

  /// The identifier of a new user is stored then.
  func onboardingController(
    _ controller: any OnboardingControlling, didComplete flow: OnboardingFlow,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    if let stop, stop > flow.steps.count, !removes { wait(at: stop) }
    completionHandler(flow, nil)
  }

  private func waiting(_ number: Int) -> any OnboardingStep {
    let waiting: SimpleTaskStep.FlowHandler = { _, _ in wait(at: number) }
    return SimpleTaskStep(
      onboardHandler: waiting, restoreHandler: waiting, resetHandler: { _, _ in wait(at: number) })
  }
}

let arguments = CommandLine.arguments
guard arguments.count > 1, let service = URL(string: arguments[1]) else { exit(2) }
let stop = arguments.firstIndex(of: "--stop").flatMap { Int(arguments[$0 + 1]) }
let flows = Flows(service, stop, removes: arguments.contains("--remove"))
let manager = OnboardingSessionManager<OnboardingSession>(
  presentationDelegate: NoApplicationUI(), flowProvider: flows, delegate: flows)
do {
  let session = try await manager.open()
  let user = try await SAPcpmsUserRoles(session)?.load().userName ?? "nobody"
  print("opened", session.onboardingID, "as", user)
  if flows.removes { try await manager.removeSession() }
} catch {
  print("failed:", error)
  exit(1)
}
