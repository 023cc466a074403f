import MartletTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

@Suite("The controller of flows", .timeLimit(.minutes(5)))
struct OnboardingControllerTests {
  private let folder: TemporaryFolder
  private let records: OnboardingRecords
  private let users: SingleUserOnboardingIDManager
  private let notes = Notes()

  init() throws {
    folder = try TemporaryFolder()
    records = .temporary(folder)
    users = SingleUserOnboardingIDManager(records)
  }

  private func controller(
    _ flows: TestFlows, _ delegate: TestDelegate? = nil, clock: any Clock<Duration> = ContinuousClock()
  ) -> OnboardingController {
    OnboardingController(flows, users, delegate, records: records, clock: clock)
  }

  private func flows(_ handler: @escaping TestStep.Handler = { $1(.success($0)) }) -> TestFlows {
    let notes = notes
    return TestFlows(steps: { [TestStep("a", notes), TestStep("b", notes, handler)] })
  }

  @Test func aNewUserOnboardsAndThenReturns() async throws {
    let flows = flows()
    let first = try await controller(flows).openFlow()
    let second = try await controller(flows).openFlow()

    let id = first.context.onboardingID
    #expect(flows.asked.entries == [.onboard, .restore(onboardingID: id)])
    #expect(second.context.onboardingID == id)
    #expect(notes.entries == ["onboard a", "onboard b", "restore a", "restore b"])
  }

  @Test func theSameStepObjectsReachTheEnd() async throws {
    let step = TestStep("same", notes)
    let flow = try await controller(TestFlows(steps: { [step] })).openFlow()
    #expect(flow.steps.count == 1 && flow.steps[0] === step)
  }

  @Test(arguments: [true, false]) func neitherFlowNorErrorIsAnError(isInBackground: Bool) async throws {
    users.backgroundMode = isInBackground
    _ = try records.setID(UUID(), for: users.storingKey)
    let delegate = TestDelegate { _, _, _, done in done(.retry) }
    let controller = controller(TestFlows { _ in (nil, nil) }, delegate)
    let name = isInBackground ? "background" : "restore"
    await #expect(throws: OnboardingFlowError.noFlow(name)) { _ = try await controller.openFlow() }
    #expect(delegate.failures.value == 0)
  }

  @Test func aProviderThatNeverAnswersIsAnError() async throws {
    final class Silent: OnboardingFlowProviding {
      func flow(
        for controller: any OnboardingControlling, flowType: OnboardingFlow.FlowType,
        completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
      ) {}
    }
    let controller = OnboardingController(Silent(), users, nil, records: records)
    await #expect(throws: OnboardingFlowError.unanswered("Silent.flow(for:flowType:)")) {
      _ = try await controller.openFlow()
    }
  }

  @Test func aFlowOfAnotherUserIsRefusedBeforeItsFirstStep() async throws {
    _ = try records.setID(UUID(), for: users.storingKey)
    let notes = notes
    let flows = TestFlows { type in
      (OnboardingFlow(flowType: type, context: .plain(), steps: [TestStep("a", notes)]), nil)
    }
    await #expect(throws: OnboardingControllerError.mismatchingOnboardingIDs) {
      _ = try await controller(flows).openFlow()
    }
    #expect(notes.entries.isEmpty)
  }

  @Test func aRetryBeginsWithAFreshContext() async throws {
    let contexts = Log<UUID>()
    let flows = flows { context, done in
      contexts.append(context.onboardingID)
      done(contexts.entries.count < 3 ? .failed(StepError()) : .success(context))
    }
    let delegate = TestDelegate { _, _, _, done in done(.retry) }
    let flow = try await controller(flows, delegate).openFlow()

    #expect(Set(contexts.entries).count == 3 && delegate.failures.value == 2)
    #expect(flow.context.onboardingID == contexts.entries.last)
    #expect(notes.entries.prefix(4) == ["onboard a", "onboard b", "reset a", "reset b"])
  }

  @Test func aRetryWithoutEndIsBoundedAndPaused() async throws {
    let clock = ManualClock()
    let delegate = TestDelegate { _, _, _, done in done(.retry) }
    let controller = controller(flows { $1(.failed(StepError(name: "always"))) }, delegate, clock: clock)
    let ended = Gate()
    let opening = Task {
      defer { ended.open() }
      _ = try await controller.openFlow()
    }
    while !ended.isOpen {
      clock.advance(by: .seconds(1))
      try await Task.sleep(for: .microseconds(100))
    }
    await #expect(throws: StepError(name: "always")) { try await opening.value }
    #expect(delegate.failures.value == RetryPlan.limit + 1)
    #expect(clock.now.elapsed >= .seconds(30))
  }

  @Test func theErrorOfTheDelegateIsFinal() async {
    let delegate = TestDelegate { _, _, _, done in done(.stop(StepError(name: "demo"))) }
    let controller = controller(flows { $1(.failed(StepError())) }, delegate)
    await #expect(throws: StepError(name: "demo")) { _ = try await controller.openFlow() }
  }

  /// The handler that SAP's tool generates resets a user whose restore fails, and then begins again.
  @Test func aDelegateMayResetTheUserBeforeItRetries() async throws {
    let old = UUID()
    _ = try records.setID(old, for: users.storingKey)
    let notes = notes
    let flows = TestFlows(steps: {
      [
        SimpleTaskStep(
          onboardHandler: { $1(.success($0)) }, restoreHandler: { $1(.failed(StoreManagerError.resetPasscode)) },
          resetHandler: { context, done in
            notes.append("reset \(context.onboardingID)")
            done()
          })
      ]
    })
    let delegate = TestDelegate { controller, flow, error, done in
      guard case StoreManagerError.resetPasscode = error else { return done(.stop(error)) }
      (controller as? OnboardingController)?.resetFlow(for: flow.context.onboardingID) { _ in done(.retry) }
    }
    let flow = try await controller(flows, delegate).openFlow()

    #expect(flow.context.onboardingID != old)
    #expect(flows.asked.entries == [.restore(onboardingID: old), .reset(onboardingID: old), .onboard])
    #expect(notes.entries == ["reset \(old)"])
    #expect(try records.id(for: users.storingKey) == flow.context.onboardingID)
  }

  @Test func aDelegateMayChangeAndRefuseFlows() async throws {
    final class Changing: OnboardingControllerDelegate, Sendable {
      let refuses: Bool
      init(refuses: Bool) { self.refuses = refuses }
      func onboardingController(
        _ controller: any OnboardingControlling, willStart flow: OnboardingFlow,
        completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
      ) {
        var flow = flow
        flow.context.info[.init("changed")] = true
        completionHandler(flow, nil)
      }
      func onboardingController(
        _ controller: any OnboardingControlling, didComplete flow: OnboardingFlow,
        completionHandler: @escaping @Sendable (OnboardingFlow?, (any Error)?) -> Void
      ) { completionHandler(refuses ? nil : flow, refuses ? StepError(name: "refused") : nil) }
    }
    let (changing, refusing) = (Changing(refuses: false), Changing(refuses: true))
    let refused = OnboardingController(flows(), users, refusing, records: records)
    await #expect(throws: StepError(name: "refused")) { _ = try await refused.openFlow() }
    // The user did not onboard: everything was reset, and the identifier removed.
    #expect(notes.entries == ["onboard a", "onboard b", "reset a", "reset b"])
    #expect(try records.id(for: users.storingKey) == nil)

    let controller = OnboardingController(flows(), users, changing, records: records)
    #expect(try await controller.openFlow().context.info[.init("changed")] as? Bool == true)
  }

  @Test func twoProcessesThatOnboardAtOnceHaveOneUser() async throws {
    let other = UUID()
    let records = records
    let flows = flows { context, done in
      // Another process is faster.
      _ = try? records.setID(other, for: SingleUserOnboardingIDManager.defaultStoringKey)
      done(.success(context))
    }
    await #expect(throws: OnboardingControllerError.mismatchingOnboardingIDs) {
      _ = try await controller(flows).openFlow()
    }
    #expect(notes.entries == ["onboard a", "onboard b", "reset a", "reset b"])
    #expect(try await controller(flows).openFlow().context.onboardingID == other)
  }

  @Test func handlersAreCalledOnce() async throws {
    let (opened, gate) = (Counter(), Gate())
    controller(flows()).openFlow { flow, error in
      if flow != nil, error == nil { opened.next() }
      gate.open()
    }
    try await gate.wait()
    #expect(opened.value == 1)
  }

  @Test func aNewUserBeginsWithoutTheCookiesOfThePreviousOne() async throws {
    let cookies = Log<Int>()
    let notes = notes
    let jar = SAPHTTPCookieStorage()
    let flows = TestFlows { type in
      let configuration = SAPURLSession(configuration: .ephemeral).configuration
      configuration.httpCookieStorage = jar
      let step = TestStep("a", notes) { context, done in
        cookies.append(jar.cookies?.count ?? 0)
        done(.success(context))
      }
      let context = OnboardingContext(
        onboardingID: type.onboardingID ?? UUID(), sapURLSession: SAPURLSession(configuration: configuration))
      return (OnboardingFlow(flowType: type, context: context, steps: [step]), nil)
    }
    let add = {
      jar.setCookie(
        try #require(HTTPCookie(properties: [.name: "s", .value: "1", .domain: "a.example", .path: "/"])))
    }
    try add()
    let first = try await controller(flows).openFlow().context.onboardingID
    try add()
    _ = try await controller(flows).openFlow()  // the same user returns
    try records.removeID(first, for: users.storingKey)
    _ = try await controller(flows).openFlow()  // another one begins

    #expect(cookies.entries == [0, 1, 0])
  }
}
