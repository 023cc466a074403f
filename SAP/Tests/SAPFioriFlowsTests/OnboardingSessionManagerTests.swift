@_spi(Toolkit) import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import SAPFioriFlows

/// The session of an app, in the shape that SAP's tool generates.
private final class ApplicationSession: OnboardingSession {
  let step: TestStep?

  required init(flow: OnboardingFlow) {
    step = flow.steps.first { $0 is TestStep } as? TestStep
    super.init(flow: flow)
  }
}

private final class Screens: ApplicationUIManaging, Sendable {
  let notes = Notes()
  private let failing: String?

  init(failing: String? = nil) { self.failing = failing }

  private func show(_ name: String, _ completionHandler: @Sendable ((any Error)?) -> Void) {
    notes.append(name)
    completionHandler(name == failing ? StepError(name: name) : nil)
  }

  func hideApplicationScreen(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    show("hide", completionHandler)
  }
  func showSplashScreenForOnboarding(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    show("splash", completionHandler)
  }
  func showSplashScreenForUnlock(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    show("unlock", completionHandler)
  }
  /// A newer app has the identifier of a scene.
  func showApplicationScreen(
    scene sessionID: String?, completionHandler: @escaping @Sendable ((any Error)?) -> Void
  ) { show("app", completionHandler) }
}

@Suite("The manager of sessions with flows", .timeLimit(.minutes(5)))
struct OnboardingSessionManagerTests {
  private let folder: TemporaryFolder
  private let records: OnboardingRecords
  private let screens = Screens()
  private let notes = Notes()

  init() throws {
    folder = try TemporaryFolder()
    records = .temporary(folder)
  }

  private func manager(
    _ flows: TestFlows, _ screens: Screens? = nil
  ) -> OnboardingSessionManager<ApplicationSession> {
    let controller = OnboardingController(
      flows, SingleUserOnboardingIDManager(records), nil, records: records)
    return OnboardingSessionManager(onboardingController: controller, presentationDelegate: screens ?? self.screens)
  }

  private func flows(_ handler: @escaping TestStep.Handler = { $1(.success($0)) }) -> TestFlows {
    let notes = notes
    return TestFlows(steps: { [TestStep("a", notes, handler)] })
  }

  private func error(_ call: (@escaping @Sendable ((any Error)?) -> Void) -> Void) async -> (any Error)? {
    await withCheckedContinuation { continuation in call { continuation.resume(returning: $0) } }
  }

  @Test func aSessionIsOpenedOnceForAllCalls() async throws {
    let gate = Gate()
    let manager = manager(
      flows { context, done in
        Task {
          try await gate.wait()
          done(.success(context))
        }
      })
    let ends = Counter()
    for _ in 0..<3 { manager.open { if $0 == nil { ends.next() } } }
    try await until { manager.state == .opening }
    #expect(manager.onboardingSession == nil)
    gate.open()
    try await until { ends.value == 3 }

    #expect(notes.entries == ["onboard a"] && screens.notes.entries == ["splash", "app"])
    #expect(manager.state == .opened && manager.onboardingSession?.step?.name == "a")
    #expect(await error { manager.open(completionHandler: $0) } == nil)
    #expect(notes.entries == ["onboard a"])
  }

  @Test func aSessionHasWhatItsFlowHad() async throws {
    let settings = SAPcpmsSettingsParameters(backendURL: url("http://a.example"), applicationID: "app")
    let notes = notes
    let flows = TestFlows(steps: { [TestStep("a", notes)] }) { $0.info[.sapcpmsSettingsParameters] = settings }
    let manager = manager(flows)
    let session = try await manager.open()
    #expect(session.settingsParameters == settings && session.sapURLSession.isValid)
    #expect(try records.id(for: "onboardingID") == session.onboardingID)
  }

  @Test func anErrorIsReportedAndTheNextCallTriesAgain() async throws {
    let fails = Mutex(true)
    let manager = manager(
      flows { context, done in done(fails.withLock { $0 } ? .failed(StepError()) : .success(context)) })
    #expect(await error { manager.open(completionHandler: $0) } as? StepError == StepError())
    #expect(manager.state == .closed && screens.notes.entries == ["splash"])
    fails.withLock { $0 = false }
    _ = try await manager.open()
  }

  @Test func theErrorOfAScreenIsReported() async {
    let manager = manager(flows(), Screens(failing: "splash"))
    #expect(await error { manager.open(completionHandler: $0) } as? StepError == StepError(name: "splash"))
    #expect(notes.entries.isEmpty && manager.state == .closed)
  }

  @Test func removingTheUserResetsAndTheNextCallOnboards() async throws {
    let manager = manager(flows())
    let first = try await manager.open()
    let (id, session) = (first.onboardingID, first.sapURLSession)
    try await manager.removeSession()

    #expect(manager.onboardingSession == nil && manager.state == .closed && !session.isValid)
    #expect(notes.entries == ["onboard a", "reset a"])
    #expect(try records.id(for: "onboardingID") == nil)
    #expect(try await manager.open().onboardingID != id)
  }

  @Test func removingTheUserEndsAnOpeningThatHangs() async throws {
    let (begun, handlers) = (Gate(), Log<@Sendable (OnboardingResult) -> Void>())
    let made = Log<SAPURLSession>()
    let manager = manager(
      flows { _, done in
        made.append(SAPURLSession(configuration: .ephemeral))
        handlers.append(done)
        begun.open()
      })
    let (failures, ended) = (Log<(any Error)?>(), Gate())
    manager.open {
      failures.append($0)
      ended.open()
    }
    try await begun.wait()
    try await manager.removeSession()
    try await ended.wait()

    #expect(failures.entries.map { $0 as? OnboardingFlowError } == [.removed])
    #expect(notes.entries == ["onboard a", "reset a"] && manager.state == .closed)
    #expect(made.entries.count == 1 && !made.entries[0].isValid)
    handlers.entries[0](.success(.plain()))
    #expect(try records.id(for: "onboardingID") == nil && manager.onboardingSession == nil)
  }

  @Test func aUserWhoIsRemovedWhileReturningIsReset() async throws {
    let id = UUID()
    _ = try records.setID(id, for: "onboardingID")
    let (begun, handlers) = (Gate(), Log<@Sendable (OnboardingResult) -> Void>())
    let manager = manager(
      flows { _, done in
        handlers.append(done)
        begun.open()
      })
    manager.open { _ in }
    try await begun.wait()
    try await manager.removeSession()
    #expect(notes.entries == ["restore a", "reset a"])
    #expect(try records.id(for: "onboardingID") == nil)
  }

  @Test func aClosedSessionIsRestored() async throws {
    let manager = manager(flows())
    let id = try await manager.open().onboardingID
    try await manager.close()
    #expect(manager.onboardingSession == nil && manager.state == .closed)
    #expect(try await manager.open().onboardingID == id)
    #expect(notes.entries == ["onboard a", "restore a"])
  }

  @Test func lockingNeedsASession() async throws {
    let manager = manager(flows())
    try await manager.lock()
    try await manager.unlock()
    try await manager.removeSession()
    try await manager.close()
    #expect(manager.state == .closed && screens.notes.entries.isEmpty)
  }

  @Test func aLockedAppIsHiddenUntilItIsUnlocked() async throws {
    let manager = manager(flows())
    _ = try await manager.open()
    try await manager.lock()
    #expect(manager.state == .locked)
    try await manager.lock()
    try await manager.unlock()
    #expect(manager.state == .opened)
    #expect(screens.notes.entries == ["splash", "app", "hide", "unlock", "app"])
  }

  /// As generated code does, whose handler of errors opens at once.
  @Test func anAppThatOpensAgainAfterEachFailureIsSlowedDown() async throws {
    let (clock, failures) = (ManualClock(), Awaitable(0))
    let screens = Screens(failing: "splash")
    let controller = OnboardingController(
      flows(), SingleUserOnboardingIDManager(records), nil, records: records)
    let manager = OnboardingSessionManager<ApplicationSession>(controller, screens, ForeignCalls(clock: clock))
    @Sendable func open() {
      manager.open { error in
        failures.update { $0 += 1 }
        if (error as? OnboardingFlowError) != .removed { open() }
      }
    }
    open()
    for (index, pause) in [100, 200, 400].enumerated() {
      _ = try await failures.wait { $0 == index + 2 ? true : nil }
      try await until { clock.pendingWakeUps.contains(.milliseconds(pause)) }
      clock.advance(by: .milliseconds(pause))
    }
    _ = try await failures.wait { $0 == 5 ? true : nil }
    try await until { clock.pendingWakeUps.contains(.milliseconds(800)) }
    try await manager.removeSession()
    _ = try await failures.wait { $0 == 6 ? true : nil }
    #expect(manager.state == .closed)
  }

  @Test func callsInAnyOrderEndInOneState() async throws {
    let manager = manager(flows())
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          switch number % 5 {
          case 0: _ = await error { manager.open(completionHandler: $0) }
          case 1: _ = await error { manager.lock(completionHandler: $0) }
          case 2: _ = await error { manager.unlock(completionHandler: $0) }
          case 3: _ = await error { manager.removeSession(completionHandler: $0) }
          default: _ = await error { manager.close(completionHandler: $0) }
          }
        }
      }
      try await group.waitForAll()
    }
    try await manager.removeSession()
    #expect(manager.state == .closed && manager.onboardingSession == nil)
    #expect((try await manager.open()).sapURLSession.isValid)
  }
}
