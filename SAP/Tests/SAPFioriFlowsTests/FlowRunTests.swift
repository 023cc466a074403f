import MartletTesting
import TestSupport
import Testing

@testable import SAPFioriFlows

/// The logger is the program's, so the tests that read its lines run one at a time.
@Suite("Running steps", .serialized, .timeLimit(.minutes(5)))
struct FlowRunTests {
  private let notes = Notes()

  private func step(_ name: String, _ handler: @escaping TestStep.Handler = { $1(.success($0)) }) -> TestStep {
    TestStep(name, notes, handler)
  }

  private func failing(_ name: String) -> TestStep { step(name) { $1(.failed(StepError(name: name))) } }

  @Test func eachStepGetsTheContextOfTheStepBefore() async throws {
    let adds = { (name: String) in
      step(name) { context, done in
        var context = context
        context.info[.init(name)] = context.info.count
        done(.success(context))
      }
    }
    let context = OnboardingContext.plain()

    let last = try await OnboardingFlowController.onboard(on: [adds("a"), adds("b"), adds("c")], context: context)

    #expect(notes.entries == ["onboard a", "onboard b", "onboard c"])
    #expect(["a", "b", "c"].map { last.info[.init($0)] as? Int } == [0, 1, 2])
    #expect(last.onboardingID == context.onboardingID && last.sapURLSession === context.sapURLSession)
  }

  @Test func aFailureOfTheLastStepResetsEveryStep() async {
    await #expect(throws: StepError(name: "c")) {
      try await OnboardingFlowController.onboard(on: [step("a"), step("b"), failing("c")], context: .plain())
    }
    #expect(notes.entries == ["onboard a", "onboard b", "onboard c", "reset a", "reset b", "reset c"])
  }

  @Test func withoutAResetOnErrorNothingIsReset() async {
    await #expect(throws: StepError(name: "a")) {
      try await OnboardingFlowController.onboard(
        on: [failing("a"), step("b")], context: .plain(), shouldResetOnError: false)
    }
    #expect(notes.entries == ["onboard a"])
  }

  @Test func aFailedRestoreResetsNothing() async {
    await #expect(throws: StepError(name: "b")) {
      try await OnboardingFlowController.restore(on: [step("a"), failing("b")], context: .plain())
    }
    #expect(notes.entries == ["restore a", "restore b"])
  }

  @Test func theFirstAnswerCountsAndTheSecondIsLogged() async throws {
    let lines = Lines.attached()
    defer { lines.detach() }
    let twice = step("twice") { context, done in
      done(.failed(StepError()))
      done(.success(context))
    }
    await #expect(throws: StepError()) {
      try await OnboardingFlowController.restore(on: [twice, step("next")], context: .plain())
    }
    #expect(notes.entries == ["restore twice"])
    try await until {
      lines.texts.contains { $0.hasPrefix("TestStep.restore has called its completion handler again") }
    }
  }

  @Test func aLateAnswerOfAnEarlierStepChangesNothing() async throws {
    let late = Log<@Sendable (OnboardingResult) -> Void>()
    let first = step("first") { context, done in
      late.append(done)
      done(.success(context))
    }
    let second = step("second") { context, done in
      late.entries.first?(.failed(StepError()))
      done(.success(context))
    }
    _ = try await OnboardingFlowController.onboard(on: [first, second, step("third")], context: .plain())
    #expect(notes.entries == ["onboard first", "onboard second", "onboard third"])
  }

  /// A template of 2020 answers once per service, and never if there is none.
  @Test func aStepThatReleasesItsHandlerUnansweredFails() async {
    await #expect(throws: OnboardingFlowError.unanswered("TestStep.onboard")) {
      try await OnboardingFlowController.onboard(on: [step("silent") { _, _ in }, step("b")], context: .plain())
    }
    #expect(notes.entries == ["onboard silent", "reset silent", "reset b"])
  }

  /// A step that never answers by itself. The logger is the program's, so its name finds its lines.
  private final class HangingStep: OnboardingStep, Sendable {
    let handlers = Log<@Sendable (OnboardingResult) -> Void>()

    func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
      handlers.append(completionHandler)
    }
    func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {}
  }

  @Test func aStepThatDoesNotAnswerIsNamedAfterFiveAndSixtySeconds() async throws {
    let lines = Lines.attached()
    defer { lines.detach() }
    let (clock, gate, hanging) = (ManualClock(), Gate(), HangingStep())
    var calls = ForeignCalls()
    calls.clock = clock
    let run = FlowRun(.onboard, [hanging], calls: calls)
    let context = OnboardingContext.plain()
    let result = Task {
      defer { gate.open() }
      return try await run.run(from: context)
    }

    let expected = { (seconds: Int) in "HangingStep.onboard has not called its completion handler for \(seconds) s" }
    let own = { lines.texts.filter { $0.hasPrefix("HangingStep") } }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(4))
    #expect(own().isEmpty)
    clock.advance(by: .seconds(1))
    try await until { own() == [expected(5)] }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(55))
    try await until { own() == [expected(5), expected(60)] }
    clock.advance(by: .seconds(1000))
    #expect(own().count == 2 && !gate.isOpen)

    try await until { !hanging.handlers.entries.isEmpty }
    hanging.handlers.entries[0](.success(context))
    _ = try await result.value
  }

  @Test func stepsMayBlockTheirThreadAndNoTaskWaits() async throws {
    // More runs than threads of tasks, each blocked until all have begun.
    let begun = Counter()
    let all = 2 * ProcessInfo.processInfo.activeProcessorCount + 2
    let blocking = step("blocking") { context, done in
      begun.next()
      while begun.value < all { Thread.sleep(forTimeInterval: 0.001) }
      done(.success(context))
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<all {
        group.addTask { _ = try await OnboardingFlowController.onboard(on: [blocking], context: .plain()) }
      }
      try await group.waitForAll()
    }
    #expect(begun.value == all)
  }

  @Test func cancellingEndsTheWaitAndResetsAllSteps() async throws {
    let (handlers, begun) = (Log<@Sendable (OnboardingResult) -> Void>(), Gate())
    let hanging = step("hanging") {
      handlers.append($1)
      begun.open()
    }
    let steps: [any OnboardingStep] = [step("a"), hanging, step("c")]
    let task = Task { try await OnboardingFlowController.onboard(on: steps, context: .plain()) }
    try await begun.wait()
    task.cancel()

    await #expect(throws: OnboardingError.self) { try await task.value }
    #expect(notes.entries == ["onboard a", "onboard hanging", "reset a", "reset hanging", "reset c"])
    handlers.entries[0](.success(.plain()))
  }

  @Test func cancellingEndsTheStepsWithinACompositeStep() async throws {
    let (handlers, begun) = (Log<@Sendable (OnboardingResult) -> Void>(), Gate())
    let hanging = step("hanging") {
      handlers.append($1)
      begun.open()
    }
    let steps: [any OnboardingStep] = [CompositeStep(steps: [hanging, step("within")]), step("c")]
    let task = Task { try await OnboardingFlowController.onboard(on: steps, context: .plain()) }
    try await begun.wait()
    task.cancel()
    await #expect(throws: OnboardingError.self) { try await task.value }
    handlers.entries[0](.success(.plain()))

    // A flow that runs afterwards gives the step within the time to begin, if it would.
    _ = try await OnboardingFlowController.restore(on: [step("later")], context: .plain())
    #expect(
      notes.entries == ["onboard hanging", "reset hanging", "reset within", "reset c", "restore later"])
  }

  @Test func aCompositeStepIsItsSteps() async throws {
    let composite = CompositeStep(steps: [step("a"), CompositeStep(steps: [step("b"), failing("c")]), step("d")])
    composite.infoScreenText = "Please wait"
    let screens = TestScreens()
    await #expect(throws: StepError(name: "c")) {
      try await OnboardingFlowController.onboard(on: [composite, step("e")], context: .plain(UUID(), screens))
    }
    #expect(
      notes.entries == [
        "onboard a", "onboard b", "onboard c", "reset a", "reset b", "reset c", "reset d", "reset e",
      ])
    try await until { screens.notes.entries.last == "state general" }
    #expect(screens.notes.entries == ["state onboarding", "Please wait", "state general"])
  }

  /// The state is the program's, so flows of other tests may be running, too.
  @Test func thePresentationStateIsThatOfARunningFlow() async throws {
    let (gate, states, screens) = (Gate(), Log<PresentationState>(), TestScreens())
    let looking = step("looking") { context, done in
      states.append(OnboardingFlowController.presentationState)
      done(.success(context))
    }
    _ = try await OnboardingFlowController.onboard(on: [looking], context: .plain(UUID(), screens))
    _ = try await OnboardingFlowController.restore(on: [looking], context: .plain(UUID(), screens))
    OnboardingFlowController.reset(on: [looking], context: .plain(UUID(), screens)) { gate.open() }
    try await gate.wait()
    #expect(states.entries.count == 2 && !states.entries.contains(.general))
    #expect(
      screens.notes.entries == ["state onboarding", "state general", "state restoring", "state general"])
  }

  @Test func asyncStepsAnswerForTheirHandlers() async throws {
    struct Broken: Error {}
    final class Fetching: AsyncOnboardingStep {
      func onboard(context: OnboardingContext) async throws -> OnboardingContext {
        var context = context
        context.info[.init("fetched")] = true
        return context
      }
      func restore(context: OnboardingContext) async throws -> OnboardingContext { throw Broken() }
    }
    let context = try await OnboardingFlowController.onboard(on: [Fetching()], context: .plain())
    #expect(context.info[.init("fetched")] as? Bool == true)
    await #expect(throws: Broken.self) {
      try await OnboardingFlowController.restore(on: [Fetching()], context: .plain())
    }
    await OnboardingFlowController.reset(on: [Fetching()], context: .plain())
  }

  @Test func simpleStepsAreTheirHandlers() async throws {
    let notes = notes
    let simple = SimpleTaskStep(
      onboardHandler: { context, done in
        notes.append("onboarded")
        done(.success(context))
      },
      restoreHandler: { _, done in done(.failed(StepError())) },
      resetHandler: { _, done in
        notes.append("reset")
        done()
      })
    _ = try await OnboardingFlowController.onboard(on: [simple], context: .plain())
    await #expect(throws: StepError()) {
      try await OnboardingFlowController.restore(on: [simple], context: .plain())
    }
    await OnboardingFlowController.reset(on: [simple], context: .plain())
    #expect(notes.entries == ["onboarded", "reset"])
  }
}
