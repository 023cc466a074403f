import SAPFioriFlows
import Synchronization

/// The screens of an app that has only lines of text: they ask, and a person answers.
final class Screens: FlowPresentationDelegate, ApplicationUIManaging, WelcomeDeciding, ConsentDeciding,
  PasscodeDeciding, BasicCredentialDiscovery, Sendable
{
  private let read: @Sendable (String) -> String?
  private let name = Mutex("")
  private let say: @Sendable (String) -> Void

  init(read: @escaping @Sendable (_ question: String) -> String?, say: @escaping @Sendable (String) -> Void) {
    (self.read, self.say) = (read, say)
  }

  /// The name of the user who signs in.
  var userName: String {
    get { name.withLock { $0 } }
    set { name.withLock { $0 = newValue } }
  }

  var state: PresentationState {
    get { OnboardingFlowController.presentationState }
    set {}
  }

  func setInfoText(_ text: String) { say(text) }

  private func agrees(_ question: String) -> Bool { ["y", "yes"].contains(read("\(question) (yes/no) ") ?? "") }

  func decideStart(_ screen: any WelcomeStepUI, completionHandler: @escaping @Sendable (WelcomeDecision) -> Void) {
    say(screen.headlineLabel.text ?? "Welcome")
    completionHandler(agrees(screen.primaryActionButton.titleLabel?.text ?? "Begin?") ? .start : .cancel)
  }

  func decideConsent(to form: UserConsentFormContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    for page in form.pages { say([page.title, page.body].compactMap(\.self).joined(separator: ": ")) }
    completionHandler(agrees("Do you consent?"))
  }

  func decideLicence(_ licence: EULAContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    say("\(licence.title): \(licence.content.string)")
    completionHandler(agrees("Do you accept?"))
  }

  func decideDataCollection(completionHandler: @escaping @Sendable (Bool) -> Void) {
    completionHandler(agrees("May data about your use be collected?"))
  }

  func choosePasscode(
    for policy: PasscodePolicy, violations: [PasscodePolicy.Violation],
    completionHandler: @escaping @Sendable (PasscodeDecision) -> Void
  ) {
    if !violations.isEmpty { say("It does not meet the server's policy.") }
    let passcode = read("New passcode, at least \(policy.minimumLength) characters: ")
    completionHandler(passcode.map { .passcode($0) } ?? .cancel)
  }

  func enterPasscode(attemptsLeft: Int?, completionHandler: @escaping @Sendable (PasscodeDecision) -> Void) {
    let left = attemptsLeft.map { ", \($0) attempts left" } ?? ""
    completionHandler(read("Passcode\(left): ").map { $0 == "forgotten" ? .reset : .passcode($0) } ?? .cancel)
  }

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) {
    let password = challenge.previousFailureCount < 3 ? read("Password of \(userName): ") : nil
    completionHandler(password.map { BasicCredential(username: userName, password: $0) }, nil)
  }
}
