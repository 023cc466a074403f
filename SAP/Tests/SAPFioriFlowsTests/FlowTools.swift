import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import SAPFioriFlows

/// What steps did, in order.
typealias Notes = Log<String>

/// A step that notes what it is called for, and answers as a test wants.
final class TestStep: OnboardingStep, Sendable {
  typealias Handler = @Sendable (OnboardingContext, @escaping @Sendable (OnboardingResult) -> Void) -> Void

  let name: String
  private let notes: Notes
  private let handler: Handler

  init(_ name: String, _ notes: Notes, _ handler: @escaping Handler = { $1(.success($0)) }) {
    (self.name, self.notes, self.handler) = (name, notes, handler)
  }

  func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    notes.append("onboard \(name)")
    handler(context, completionHandler)
  }

  func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    notes.append("restore \(name)")
    handler(context, completionHandler)
  }

  func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    notes.append("reset \(name)")
    completionHandler()
  }
}

struct StepError: Error, Equatable { var name = "step" }

/// A provider of flows of a closure.
final class TestFlows: OnboardingFlowProviding, Sendable {
  typealias Answer = @Sendable (OnboardingFlow.FlowType) -> (OnboardingFlow?, (any Error)?)
  private let answer: Answer
  let asked = Log<OnboardingFlow.FlowType>()

  init(_ answer: @escaping Answer) { self.answer = answer }

  /// Flows of the same steps for every purpose.
  convenience init(
    steps: @escaping @Sendable () -> [any OnboardingStep],
    _ change: @escaping @Sendable (inout OnboardingContext) -> Void = { _ in }
  ) {
    self.init { type in
      var context = OnboardingContext.plain(type.onboardingID ?? UUID())
      change(&context)
      return (OnboardingFlow(flowType: type, context: context, steps: steps()), nil)
    }
  }

  func flow(
    for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
    completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
  ) {
    asked.append(flowType)
    let (flow, error) = answer(flowType)
    completionHandler(flow, error)
  }
}

/// A delegate that answers a failure with a closure.
final class TestDelegate: OnboardingControllerDelegate, Sendable {
  typealias Answer =
    @Sendable (
      any OnboardingControlling, OnboardingFlow, any Error, @escaping @Sendable (OnboardingErrorDisposition) -> Void
    ) -> Void
  private let answer: Answer
  let failures = Counter()

  init(_ answer: @escaping Answer) { self.answer = answer }

  func onboardingController(
    _ controller: any OnboardingControlling, didFail flow: OnboardingFlow, with error: any Error,
    completionHandler: @escaping @Sendable (OnboardingErrorDisposition) -> Void
  ) {
    failures.next()
    answer(controller, flow, error, completionHandler)
  }
}

extension OnboardingContext {
  /// A context whose session writes nothing.
  static func plain(
    _ id: UUID = UUID(), _ presentation: any FlowPresentationDelegate = SilentPresentation()
  ) -> OnboardingContext {
    OnboardingContext(
      onboardingID: id, sapURLSession: SAPURLSession(configuration: .ephemeral), presentationDelegate: presentation)
  }
}

extension OnboardingRecords {
  static func temporary(_ folder: TemporaryFolder) -> OnboardingRecords {
    let file = folder.file("Onboarding.sqlite")
    return OnboardingRecords { file }
  }
}

/// The answers of a user, in place of screens.
final class TestScreens: FlowPresentationDelegate, WelcomeDeciding, ConsentDeciding, PasscodeDeciding,
  BasicCredentialDiscovery, Sendable
{
  struct Answers: Sendable {
    var welcome = WelcomeDecision.start
    var consents = true
    var acceptsLicence = true
    var allowsDataCollection = true
    var newPasscodes = ["Secret123"]
    var passcodes: [PasscodeDecision] = []
    var credential: BasicCredential? = BasicCredential(username: "anna", password: "secret")
  }

  private let answers: Mutex<Answers>
  let notes = Notes()

  init(_ answers: Answers = Answers()) { self.answers = Mutex(answers) }

  func change(_ change: (inout Answers) -> Void) { answers.withLock { change(&$0) } }

  private func take<Value: Sendable>(_ path: (inout Answers) -> Value) -> Value {
    answers.withLock { path(&$0) }
  }

  var state: PresentationState {
    get { .general }
    set { notes.append("state \(newValue)") }
  }

  func setInfoText(_ text: String) { notes.append(text) }

  func decideStart(_ screen: any WelcomeStepUI, completionHandler: @escaping @Sendable (WelcomeDecision) -> Void) {
    notes.append("welcome \(screen.headlineLabel.text ?? "")")
    completionHandler(take { $0.welcome })
  }

  func decideConsent(to form: UserConsentFormContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    notes.append("consent \(form.version)")
    completionHandler(take { $0.consents })
  }

  func decideLicence(_ licence: EULAContent, completionHandler: @escaping @Sendable (Bool) -> Void) {
    notes.append("licence \(licence.title)")
    completionHandler(take { $0.acceptsLicence })
  }

  func decideDataCollection(completionHandler: @escaping @Sendable (Bool) -> Void) {
    notes.append("data")
    completionHandler(take { $0.allowsDataCollection })
  }

  func choosePasscode(
    for policy: PasscodePolicy, violations: [PasscodePolicy.Violation],
    completionHandler: @escaping @Sendable (PasscodeDecision) -> Void
  ) {
    notes.append("choose \(violations.count)")
    completionHandler(take { $0.newPasscodes.isEmpty ? .skip : .passcode($0.newPasscodes.removeFirst()) })
  }

  func enterPasscode(attemptsLeft: Int?, completionHandler: @escaping @Sendable (PasscodeDecision) -> Void) {
    notes.append("enter \(attemptsLeft.map { "\($0)" } ?? "-")")
    completionHandler(take { $0.passcodes.isEmpty ? .cancel : $0.passcodes.removeFirst() })
  }

  func provideBasicCredential(
    for url: URL, challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (BasicCredential?, (any Error)?) -> Void
  ) {
    notes.append("password")
    completionHandler(take { $0.credential }, nil)
  }
}

/// Keeps the lines of the loggers while a test runs.
final class Lines: LogHandler, @unchecked Sendable {
  // SAFETY: `logLevel` never changes, and the log has a lock.
  var logLevel = LogLevel.debug
  private let log = Log<String>()

  var texts: [String] { log.entries }

  func publish(_ record: LogRecord) { log.append(record.message) }

  /// The lines of the module's logger.
  static func attached() -> Lines {
    let lines = Lines()
    ForeignCalls.log.add(handler: lines)
    return lines
  }

  func detach() { ForeignCalls.log.remove(handler: self) }
}
