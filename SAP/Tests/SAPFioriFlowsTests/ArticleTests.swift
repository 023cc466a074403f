import SAPFioriFlows
import Testing

// The code of the pages of SAPFioriFlows.

final class Terminal: FlowPresentationDelegate, WelcomeDeciding, ConsentDeciding, PasscodeDeciding,
  BasicCredentialDiscovery, Sendable
{
  var state: PresentationState {
    get { OnboardingFlowController.presentationState }
    set {}
  }

  func setInfoText(_ text: String) { print(text) }

  private func ask(_ question: String) -> String {
    print(question, terminator: " ")
    return readLine() ?? ""
  }

  func decideStart(_ screen: any WelcomeStepUI, completionHandler: @escaping @Sendable (WelcomeDecision) -> Void) {
    print(screen.headlineLabel.text ?? "Welcome")
    completionHandler(ask("begin?") == "yes" ? .start : .cancel)
  }

  func decideConsent(to form: UserConsentFormContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    for page in form.pages { print(page.title ?? "", page.body ?? "") }
    completionHandler(ask("consent?") == "yes")
  }

  func decideLicence(_ licence: EULAContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    print(licence.title, licence.content.string)
    completionHandler(ask("accept?") == "yes")
  }

  func decideDataCollection(completionHandler: @escaping @Sendable (Bool) -> Void) {
    completionHandler(ask("collect data?") == "yes")
  }

  func choosePasscode(
    for policy: PasscodePolicy, violations: [PasscodePolicy.Violation],
    completionHandler: @escaping @Sendable (PasscodeDecision) -> Void
  ) { completionHandler(.passcode(ask("new passcode, at least \(policy.minimumLength) characters:"))) }

  func enterPasscode(attemptsLeft: Int?, completionHandler: @escaping @Sendable (PasscodeDecision) -> Void) {
    let answer = ask("passcode, or 'forgotten':")
    completionHandler(answer == "forgotten" ? .reset : .passcode(answer))
  }

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) { completionHandler(BasicCredential(username: ask("user:"), password: ask("password:")), nil) }
}

final class LoginInBrowser: LoginPagePresenting {
  func present(
    _ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void
  ) {
    print("Open \(page) in a browser, and paste the address where it ends, \(redirect)…:")
    completionHandler(readLine().flatMap { URL(string: $0) }, nil)
  }

  func dismiss() {}
}

private final class Flows: OnboardingFlowProviding {
  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    let context = OnboardingContext(
      sapURLSession: SAPURLSession(configuration: .ephemeral), presentationDelegate: Terminal())
    completionHandler(OnboardingFlow(flowType: .onboard, context: context, steps: []), nil)
  }
}

/// Remembers nobody, so that a test writes nothing into the folder of the program.
private final class Nobody: OnboardingIDManaging {
  func flowToStart(completionHandler: @escaping @Sendable (OnboardingFlow.FlowType) -> Void) {
    completionHandler(.onboard)
  }
  func store(onboardingID: UUID, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    completionHandler(nil)
  }
  func remove(onboardingID: UUID, completionHandler: () -> Void) { completionHandler() }
}

@Suite("The pages of onboarding", .timeLimit(.minutes(5)))
struct ArticleTests {
  /// The block of the overview, which is compiled.
  private func overview(_ flows: any OnboardingFlowProviding, _ errors: any OnboardingControllerDelegate) async throws {
    let manager = OnboardingSessionManager<OnboardingSession>(
      presentationDelegate: NoApplicationUI(), flowProvider: flows, delegate: errors)
    let session = try await manager.open()
    print(session.onboardingID, session.sapURLSession.observers.count)
  }

  @Test func aManagerOpensTheSessionOfAFlow() async throws {
    let manager = OnboardingSessionManager<OnboardingSession>(
      presentationDelegate: NoApplicationUI(), flowProvider: Flows(), onboardingIDManager: Nobody())
    let session = try await manager.open()
    #expect(session.sapURLSession.isValid)
  }
}
