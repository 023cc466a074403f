import MartletTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

@Suite("The encrypted store of a user", .timeLimit(.minutes(5)))
struct StoreManagerStepTests {
  private let folder: TemporaryFolder
  private let records: OnboardingRecords
  private let screens = TestScreens()
  private let id = UUID()

  init() throws {
    folder = try TemporaryFolder()
    records = .temporary(folder)
  }

  private func step(_ policy: PasscodePolicy?) -> StoreManagerStep {
    let step = StoreManagerStep(records)
    step.defaultPasscodePolicy = policy
    return step
  }

  private var context: OnboardingContext { .plain(id, screens) }

  private func onboard(_ policy: PasscodePolicy?, _ context: OnboardingContext? = nil) async throws {
    let context = context ?? self.context
    try context.credentialStore.put("secret-token", for: "token")
    let last = try await OnboardingFlowController.onboard(on: [step(policy)], context: context)
    #expect(last.persistentStoreManger.store?.isOpen == true)
    #expect(try last.credentialStore.get(String.self, for: "token") == "secret-token")
    last.persistentStoreManger.store?.close()
  }

  private func restored() async throws -> String? {
    let context = try await OnboardingFlowController.restore(on: [step(nil)], context: context)
    defer { context.persistentStoreManger.store?.close() }
    return try context.credentialStore.get(String.self, for: "token")
  }

  private var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? [] }

  private func files(with text: String) -> [String] {
    files.filter { (try? Data(contentsOf: folder.file($0)))?.range(of: Data(text.utf8)) != nil }
  }

  @Test func whatWasInMemoryIsInTheStoreOfTheNextRun() async throws {
    try await onboard(nil)
    #expect(try await restored() == "secret-token")
    #expect(screens.notes.entries.allSatisfy { $0.hasPrefix("state") })
    #expect(files(with: "secret-token").isEmpty)
  }

  @Test func aPasscodeOpensTheStore() async throws {
    try await onboard(PasscodePolicy())
    screens.change { $0.passcodes = [.passcode("wrong"), .passcode("Secret123")] }
    #expect(try await restored() == "secret-token")
    #expect(screens.notes.entries.filter { !$0.hasPrefix("state") } == ["choose 0", "enter 10", "enter 9"])
    #expect(files(with: "Secret123").isEmpty)

    // The attempts begin anew after the right one.
    screens.change { $0.passcodes = [.passcode("Secret123")] }
    #expect(try await restored() == "secret-token")
    #expect(screens.notes.entries.contains("enter 10"))
  }

  @Test func aPasscodeThatDoesNotMeetThePolicyIsAskedForAgain() async throws {
    screens.change { $0.newPasscodes = ["short", "alllowercase", "Secret123"] }
    var policy = PasscodePolicy()
    (policy.requiresUppercase, policy.requiresDigit) = (true, true)
    try await onboard(policy)
    #expect(screens.notes.entries.filter { $0.hasPrefix("choose") } == ["choose 0", "choose 3", "choose 2"])
  }

  @Test func withoutSomebodyToAskNoPasscodeIsSet() async throws {
    let context = OnboardingContext.plain(id)
    await #expect(throws: OnboardingFlowError.noDecision(step: "StoreManagerStep", needs: "PasscodeDeciding")) {
      _ = try await OnboardingFlowController.onboard(on: [step(PasscodePolicy())], context: context)
    }
    #expect(!files.contains { $0.hasPrefix("Store") })
  }

  @Test func aPasscodeIsSkippedOnlyIfThePolicyAllowsIt() async throws {
    screens.change { $0.newPasscodes = [] }
    await #expect(throws: StoreManagerError.skipPasscodeSetup) {
      _ = try await OnboardingFlowController.onboard(on: [step(PasscodePolicy())], context: context)
    }
    var policy = PasscodePolicy()
    policy.isSkippable = true
    try await onboard(policy)
    #expect(try await restored() == "secret-token")
  }

  @Test func tooManyWrongPasscodesCloseTheStoreAlsoAfterARestart() async throws {
    var policy = PasscodePolicy()
    policy.retryLimit = 2
    try await onboard(policy)
    screens.change { $0.passcodes = [.passcode("1"), .cancel] }
    await #expect(throws: StoreManagerError.cancelPasscodeEntry) { _ = try await restored() }
    screens.change { $0.passcodes = [.passcode("2"), .passcode("Secret123")] }
    await #expect(throws: StoreManagerError.passcodeRetryLimitReached) { _ = try await restored() }
    await #expect(throws: StoreManagerError.passcodeRetryLimitReached) { _ = try await restored() }
    #expect(screens.notes.entries.filter { $0.hasPrefix("enter") } == ["enter 2", "enter 1", "enter 1"])
  }

  @Test(
    arguments: [
      (.reset, .resetPasscode), (.cancel, .cancelPasscodeEntry), (.skip, .skipPasscodeSetup),
      (.addNewUser, .addNewUser),
    ] as [(PasscodeDecision, StoreManagerError)])
  func otherDecisionsEndTheFlow(decision: PasscodeDecision, expected: StoreManagerError) async throws {
    try await onboard(PasscodePolicy())
    screens.change { $0.passcodes = [decision] }
    await #expect(throws: expected) { _ = try await restored() }
  }

  @Test func aResetLeavesNothingOfTheUser() async throws {
    try await onboard(nil)
    #expect(files(with: id.uuidString).isEmpty == false)
    await OnboardingFlowController.reset(on: [step(nil)], context: context)
    #expect(!files.contains { $0.contains(id.uuidString) })
    #expect(try OnboardingRecords.StoreValue.allCases.allSatisfy { try records.text($0, of: id) == nil })
    let path = folder.file("Store-\(id.uuidString).sqlite").path
    await #expect(throws: StoreManagerError.storeDoesntExist(path: path)) { _ = try await restored() }
  }

  @Test func aFailedOnboardingLeavesNoStore() async throws {
    let failing = SimpleTaskStep(onboardHandler: { $1(.failed(StepError())) }, restoreHandler: { $1(.success($0)) })
    await #expect(throws: StepError()) {
      _ = try await OnboardingFlowController.onboard(on: [step(nil), failing], context: context)
    }
    #expect(!files.contains { $0.hasPrefix("Store") })
  }

  @Test func theStoreOfAProcessThatWasKilledIsRemoved() async throws {
    // As a process leaves it that ends within the onboarding; process 1 did not start then.
    let killed = UUID()
    let context = OnboardingContext.plain(killed, screens)
    _ = try await step(nil).onboarded(context)
    try records.set("1 0", .unfinished, of: killed)
    try await onboard(nil)
    #expect(!files.contains { $0.contains(killed.uuidString) })
    #expect(try records.unfinished().isEmpty)
    #expect(try await restored() == "secret-token")
  }

  @Test func theStoreOfAProcessThatRunsStays() async throws {
    let other = UUID()
    _ = try await step(nil).onboarded(.plain(other, screens))
    #expect(try records.unfinished().map(\.id) == [other])
    try await onboard(nil)
    #expect(files.contains { $0.contains(other.uuidString) })
  }

  @Test func aNewPolicyOfTheServerNeedsANewPasscode() async throws {
    try await onboard(nil)
    let apply = PasscodePolicyApplyStep(records)
    var restoring = context
    restoring.info[.passcodePolicy] = PasscodePolicy.with { $0.minimumLength = 9 }
    var steps: [any OnboardingStep] = [step(nil), apply]
    let last = try await OnboardingFlowController.restore(on: steps, context: restoring)
    last.persistentStoreManger.store?.close()

    // From now on the passcode opens the store, and an unchanged policy asks for nothing.
    screens.change { $0.passcodes = [.passcode("Secret123")] }
    steps = [step(nil), apply]
    var again = context
    again.info = restoring.info
    _ = try await OnboardingFlowController.restore(on: steps, context: again)
    #expect(screens.notes.entries.filter { !$0.hasPrefix("state") } == ["choose 0", "enter 10"])
    #expect(try records.text(.key, of: id) == nil)
  }

  @Test func aLockedSessionNeedsThePasscodeAgain() async throws {
    let flows = TestFlows { [records, screens] type in
      let step = StoreManagerStep(records)
      let context = OnboardingContext.plain(type.onboardingID ?? UUID(), screens)
      return (OnboardingFlow(flowType: type, context: context, steps: [CompositeStep(steps: [step])]), nil)
    }
    let controller = OnboardingController(flows, SingleUserOnboardingIDManager(records), nil, records: records)
    let manager = OnboardingSessionManager<OnboardingSession>(
      onboardingController: controller, presentationDelegate: NoApplicationUI())
    let session = try await manager.open()
    try session.credentialStore.put("secret-token", for: "token")

    try await manager.lock()
    #expect(throws: SecureStorageError.closed) { try session.credentialStore.get(String.self, for: "token") }
    screens.change { $0.passcodes = [.cancel] }
    await #expect(throws: StoreManagerError.cancelPasscodeEntry) { try await manager.unlock() }
    #expect(manager.state == .locked)
    screens.change { $0.passcodes = [.passcode("Secret123")] }
    try await manager.unlock()
    #expect(try session.credentialStore.get(String.self, for: "token") == "secret-token")

    try await manager.removeSession()
    #expect(!files.contains { $0.hasPrefix("Store") })
  }

  @Test(
    arguments: [
      ("", PasscodePolicy(), [.length(minimum: 8)]), ("12345678", PasscodePolicy(), []),
      ("", .with { $0.minimumLength = 0 }, [.length(minimum: 1)]),
      ("aaaaaaaa", .with { $0.minimumUniqueCharacters = 3 }, [.uniqueCharacters(minimum: 3)]),
      ("abcdefgh", .with { $0.requiresDigit = true }, [.digit]),
      ("ABCDEFGH", .with { $0.requiresLowercase = true }, [.lowercase]),
      ("abcdefgh", .with { $0.requiresUppercase = true }, [.uppercase]),
      ("abcdefg1", .with { $0.requiresSpecial = true }, [.special]),
      ("abcdefg!", .with { $0.requiresSpecial = true }, []),
      ("1234567a", .with { $0.isDigitsOnly = true }, [.digitsOnly]),
      ("12345678", .with { ($0.isDigitsOnly, $0.requiresUppercase) = (true, true) }, []),
    ] as [(String, PasscodePolicy, [PasscodePolicy.Violation])])
  func eachRequirementOfAPolicyIsChecked(
    passcode: String, policy: PasscodePolicy, expected: [PasscodePolicy.Violation]
  ) { #expect(policy.violations(of: passcode) == expected) }

  @Test func aPolicyIsReadWithTextsAndNumbers() throws {
    #expect(try PasscodePolicy(settings: [:]) == nil)
    #expect(try PasscodePolicy(settings: ["passwordPolicy": ["passwordPolicyEnabled": "false"]]) == nil)
    let full = try PasscodePolicy(
      settings: [
        "passwordPolicy": [
          "passwordPolicyEnabled": true, "passwordPolicyMinLength": "12", "passwordPolicyDigitRequired": "true",
          "passwordPolicyRetryLimit": "3", "passwordPolicyMinUniqueChars": 4,
          "passwordPolicyDefaultPasswordAllowed": "true", "passwordPolicyExpiresInNDays": "30",
          "passwordPolicyLockTimeout": "300",
        ] as [String: Any]
      ])
    #expect(full?.minimumLength == 12 && full?.requiresDigit == true && full?.retryLimit == 3)
    #expect(full?.minimumUniqueCharacters == 4 && full?.isSkippable == true)
    #expect(full?.expiryDays == 30 && full?.lockTimeout == 300)
  }

  @Test(arguments: [#"{"passwordPolicy": "on"}"#, #"{"passwordPolicy": {}}"#])
  func aPolicyThatCannotBeReadIsAnError(json: String) throws {
    let settings = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect(throws: ConfigurationError.self) { _ = try PasscodePolicy(settings: settings) }
  }

  @Test(arguments: [(0, 400.0, false), (30, 29.9, false), (30, 30, true), (1, nil, true)] as [(Int, Double?, Bool)])
  func aPasscodeExpires(days: Int, age: Double?, expected: Bool) {
    let (policy, now) = (PasscodePolicy.with { $0.expiryDays = days }, Date())
    #expect(policy.hasExpired(chosen: age.map { now.addingTimeInterval(-$0 * 86_400) }, now: now) == expected)
  }

  @Test func aPasscodeThatIsTooOldIsReplaced() async throws {
    let policy = PasscodePolicy.with { $0.expiryDays = 30 }
    screens.change { $0.newPasscodes = ["Secret123", "Secret456"] }
    try await onboard(policy)
    for (days, passcode, isAsked) in [(29.0, "Secret123", false), (31, "Secret123", true), (29, "Secret456", false)] {
      screens.change { $0.passcodes = [.passcode(passcode)] }
      var restoring = context
      restoring.info[.passcodePolicy] = policy
      let apply = PasscodePolicyApplyStep(records, now: { Date(timeIntervalSinceNow: days * 86_400) })
      let count = screens.notes.entries.filter { $0.hasPrefix("choose") }.count
      let last = try await OnboardingFlowController.restore(on: [step(nil), apply], context: restoring)
      last.persistentStoreManger.store?.close()
      #expect(screens.notes.entries.filter { $0.hasPrefix("choose") }.count == count + (isAsked ? 1 : 0))
    }
  }

  @Test func aStoreThatExistsIsOpenedIfTheAppWantsThat() async throws {
    try await onboard(nil)
    await #expect(throws: StoreManagerError.self) { try await onboard(nil) }
    // The failed onboarding has reset the store.
    try await onboard(nil)
    let opening = step(nil)
    opening.runRestoreIfStoreExists = true
    let last = try await OnboardingFlowController.onboard(on: [opening], context: context)
    #expect(try last.credentialStore.get(String.self, for: "token") == "secret-token")
  }

  /// A program that ended after the identifier was stored has onboarded the user.
  @Test func theStoreOfAKnownUserStaysAlthoughItsProcessWasKilled() async throws {
    let killed = UUID()
    _ = try await step(nil).onboarded(.plain(killed, screens))
    try records.set("1 0", .unfinished, of: killed)
    try UserManager(records).store(OnboardingUser(onboardingID: killed, name: "anna"))
    try await onboard(nil)
    #expect(files.contains { $0.contains(killed.uuidString) })
    #expect(try records.unfinished().isEmpty)
  }
}

extension PasscodePolicy {
  fileprivate static func with(_ change: (inout PasscodePolicy) -> Void) -> PasscodePolicy {
    var policy = PasscodePolicy()
    change(&policy)
    return policy
  }
}

extension OnboardingStep {
  /// Calls the step alone, without the end of a flow.
  fileprivate func onboarded(_ context: OnboardingContext) async throws -> OnboardingContext {
    try await withCheckedThrowingContinuation { continuation in
      onboard(context: context) { result in continuation.resume(with: Result { try result.get() }) }
    }
  }
}
