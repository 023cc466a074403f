import CallDoubles
@_spi(Credentials) @testable import MartletEngine
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// The promises of ``Renewal``, one test for each row of its table, and what happens at the same moment. The limits of
/// waits are in `CircularTokenTests`, sign-outs in `RenewalSignOutTests`.
@Suite("A renewal", .timeLimit(.minutes(5)))
struct RenewalTests {
  private struct Failure: Error {}

  /// Starts a caller, and returns when it waits.
  private func wait(
    _ body: @escaping @Sendable () async throws -> Renewal<String>.Answer
  ) async throws -> Task<Renewal<String>.Answer, any Error> {
    let executor = WatchedExecutor()
    let task = Task(executorPreference: executor) { try await body() }
    try await executor.idle()
    return task
  }

  @Test func oneRenewalRunsForAllCallers() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let gate = Gate()
    let runs = Mutex(0)
    var callers: [Task<Renewal<String>.Answer, any Error>] = []
    for _ in 0..<10 {
      callers.append(
        try await wait {
          try await renewal.value(where: { _ in true }, by: Call()) { _ in
            runs.withLock { $0 += 1 }
            try await gate.wait()
            return "a"
          }
        })
    }
    gate.open()

    for caller in callers { #expect(try await caller.value.version?.value == "a") }
    #expect(runs.withLock { $0 } == 1)
  }

  @Test func itGoesOnWithoutItsCallers() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let gate = Gate()
    let caller = try await wait {
      try await renewal.value(where: { _ in true }, by: Call()) { _ in
        try await gate.wait()
        return "a"
      }
    }
    caller.cancel()
    await #expect(throws: CancellationError.self) { try await caller.value }

    let next = try await wait { try await renewal.value(where: { _ in true }, by: Call()) { _ in "b" } }
    gate.open()
    #expect(try await next.value.version?.value == "a")
  }

  @Test func callersWaitForItEvenIfTheLastValueIsUsable() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let gate = Gate()
    let first = try await wait {
      try await renewal.value(insteadOf: { _ in true }, by: Call()) { _ in
        try await gate.wait()
        return "new"
      }
    }
    let second = try await wait { try await renewal.value(where: { _ in true }, by: Call()) { _ in nil } }
    gate.open()
    for caller in [first, second] { #expect(try await caller.value.version?.value == "new") }
  }

  @Test func aRefusedValueIsNotUsedAgainIfItsRenewalFails() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    await #expect(throws: Failure.self) {
      try await renewal.value(insteadOf: { $0.value == "old" }, by: Call()) { _ in throw Failure() }
    }

    let answer = try await renewal.value(where: { _ in true }, by: Call()) { last in "after \(last ?? "nothing")" }
    #expect(answer.version?.value == "after old")
  }

  @Test func aValueThatIsRefusedWhileItIsRenewedIsNotUsedAgain() async throws {
    let renewal = Renewal<String>("early", of: "the key")
    let number = renewal.number
    let gate = Gate()
    let early = try await wait {
      try await renewal.value(where: { _ in false }, by: Call()) { _ in
        try await gate.wait()
        throw Failure()
      }
    }
    let refused = try await wait {
      try await renewal.value(insteadOf: { $0.number == number }, by: Call()) { _ in nil }
    }
    gate.open()
    for caller in [early, refused] { await #expect(throws: Failure.self) { try await caller.value } }

    #expect(renewal.usable(by: Call()) { _ in true } == nil)
  }

  @Test func itsEffectsAndTheNewValueAreThereBeforeItsWaitersContinue() async throws {
    for round in 0..<1_000 {
      let renewal = Renewal<Int>(nil, of: "the key")
      let effect = Mutex(0)
      let answer = try await renewal.value(where: { _ in true }, by: Call()) { _ in
        effect.withLock { $0 = round }
        return round
      }
      #expect(answer.version?.value == round && effect.withLock { $0 } == round)
      #expect(renewal.usable(by: Call()) { _ in true }?.value == round)
    }
  }

  @Test func aCancelledCallerStartsNothing() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let gate = Gate()
    let runs = Mutex(0)
    let renew: Renewal<String>.Renew = { _ in
      runs.withLock { $0 += 1 }
      return "new"
    }
    let callers = [true, false].map { isRefused in
      Task {
        try? await gate.wait()
        return isRefused
          ? try await renewal.value(insteadOf: { _ in true }, by: Call(), renew: renew)
          : try await renewal.value(where: { _ in false }, by: Call(), renew: renew)
      }
    }
    for caller in callers { caller.cancel() }
    gate.open()
    for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
    #expect(runs.withLock { $0 } == 0)
  }

  @Test func aCallNotesWhatItWaitsForAndWhoHasRequestedIt() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let gate = Gate()
    let logs = [EventLog(), EventLog()]
    var callers: [Task<Renewal<String>.Answer, any Error>] = []
    for log in logs {
      let call = Call(runner: nil, asked: nil, listeners: [log], deadline: nil)
      callers.append(
        try await wait {
          try await renewal.value(where: { _ in true }, by: call) { _ in
            try await gate.wait()
            return "a"
          }
        })
    }
    gate.open()
    for caller in callers { _ = try await caller.value }
    #expect(logs[0].lines == ["note: waits for the key"])
    #expect(logs[1].lines == ["note: waits for the key, which another call has requested"])
  }

  /// A value whose deinitializer uses the object that held it, such as an app's `Data` with a deallocator of its own.
  private final class Held: Sendable {
    let onRelease: @Sendable () -> Void
    init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
    deinit { onRelease() }
  }

  @Test func formerValuesAreReleasedOutsideOfItsLock() async throws {
    let numbers = Mutex<[Int?]>([])
    let renewal = Renewal<Held>(nil, of: "the key")
    let held = { @Sendable () -> Held in
      Held { [weak renewal] in
        let number = renewal?.number
        numbers.withLock { $0.append(number) }
      }
    }
    renewal.use(held())
    renewal.use(held())
    _ = try await renewal.value(where: { _ in false }, by: Call()) { _ in held() }
    try await until { numbers.withLock { $0.count } == 2 }
    renewal.remove { _ in true }
    renewal.use(held())
    renewal.forget()
    #expect(numbers.withLock { $0.count } == 4)
  }

  @Test func aRefusalOfAnOldValueGetsTheNewerOne() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let old = renewal.number
    _ = try await renewal.value(insteadOf: { $0.number == old }, by: Call()) { _ in "new" }

    let answer = try await renewal.value(insteadOf: { $0.number == old }, by: Call()) { _ in throw Failure() }
    #expect(answer.version?.value == "new")
  }

  @Test func aFailureCanBeAValue() async throws {
    let renewal = Renewal<Result<String, Failure>>(nil, of: "the key")
    let first = try await renewal.value(where: { _ in true }, by: Call()) { _ in .failure(Failure()) }
    let number = try #require(first.version?.number)

    let same = try await renewal.value(where: { _ in true }, by: Call()) { _ in .success("a") }
    #expect(same.version?.number == number)
    let next = try await renewal.value(insteadOf: { $0.number == number }, by: Call()) { _ in .success("a") }
    #expect(try next.version?.value.get() == "a")
  }

  @Test func aDumpOfAVersionDoesNotShowTheValue() async throws {
    let renewal = Renewal<String>("hidden", of: "the key")
    let version = try #require(renewal.usable(by: Call()) { _ in true })
    var text = ""
    dump(version, to: &text)
    #expect(!text.contains("hidden") && version.value == "hidden")
  }

  @Test func numbersCountValues() async throws {
    let renewal = Renewal<Void>(nil, of: "the login")
    #expect(renewal.number == nil)
    _ = try await renewal.value(where: { _ in true }, by: Call()) { _ in () }
    let first = try #require(renewal.number)
    _ = try await renewal.value(insteadOf: { $0.number == first }, by: Call()) { _ in () }
    #expect(try #require(renewal.number) > first)
  }

  @Test func aRenewalWithoutAResultIsNoValue() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let answer = try await renewal.value(where: { _ in true }, by: Call()) { _ in nil }
    #expect(answer.version == nil && !answer.isSkipped)
  }

  @Test func aCallThatTheRenewalNeedsContinuesWithoutTheValue() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let log = EventLog()
    let call = Call(runner: nil, asked: nil, listeners: [log], deadline: nil)
    let answer = try await renewal.value(where: { _ in true }, by: call) { _ in
      try await renewal.value(where: { _ in true }, by: Call()) { _ in "inner" }.isSkipped ? "skipped" : "waited"
    }
    #expect(answer.version?.value == "skipped")
    #expect(log.lines == ["note: waits for the key"])
  }

  @Test func theCallThatStartedItContinuesWithoutTheValueInsideOfTheClosure() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let call = Call()
    let answer = try await renewal.value(where: { _ in true }, by: call) { _ in
      let inner = [
        try await renewal.value(where: { _ in true }, by: call) { _ in "inner" },
        try await renewal.value(insteadOf: { _ in true }, by: call) { _ in "inner" },
      ]
      return inner.allSatisfy(\.isSkipped) ? "skipped" : "waited"
    }
    #expect(answer.version?.value == "skipped")
  }

  @Test func itsTaskInheritsTheTaskLocalValuesOfTheCallThatStartedIt() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let answer = try await Self.$user.withValue("anna") {
      try await renewal.value(where: { _ in true }, by: Call()) { _ in Self.user }
    }
    #expect(answer.version?.value == "anna")
  }

  @TaskLocal private static var user: String?

  @Test func itsClosureIsReleasedAfterwards() async throws {
    final class Page: Sendable {}
    weak var page: Page?
    let renewal = Renewal<String>(nil, of: "the key")
    do {
      let shown = Page()
      page = shown
      _ = try await renewal.value(where: { _ in true }, by: Call()) { _ in "after \(shown)" }
    }
    try await until { page == nil }
    #expect(renewal.number != nil)
  }

  @Test func aValueThatWasNotRefusedStaysUsableIfItsRenewalFails() async throws {
    let renewal = Renewal<String>("early", of: "the key")
    await #expect(throws: Failure.self) {
      try await renewal.value(where: { _ in false }, by: Call()) { _ in throw Failure() }
    }
    _ = try await renewal.value(where: { _ in false }, by: Call()) { _ in nil }

    let answer = try await renewal.value(where: { _ in true }, by: Call()) { _ in throw Failure() }
    #expect(answer.version?.value == "early")
  }

  @Test func theNewValueMayEqualTheRefusedOneAndHasAnotherNumber() async throws {
    let renewal = Renewal<String>("same", of: "the key")
    let old = try #require(renewal.number)
    let answer = try await renewal.value(insteadOf: { $0.number == old }, by: Call()) { _ in "same" }
    #expect(answer.version?.value == "same")
    #expect(try #require(renewal.number) > old)
  }

  @Test func theClosureMayReplaceTheValue() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let answer = try await renewal.value(where: { _ in true }, by: Call()) { _ in
      renewal.use("stored")
      return "discarded"
    }
    #expect(answer.version?.value == "stored")
    #expect(renewal.usable(by: Call()) { _ in true }?.value == "stored")
  }

  @Test func aRemovalLeavesARunningRenewalAlone() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let answer = try await renewal.value(insteadOf: { _ in true }, by: Call()) { _ in
      renewal.remove { _ in true }
      return "new"
    }
    #expect(answer.version?.value == "new")
    #expect(renewal.number != nil)
  }

  @Test func allWaitersGetItsError() async throws {
    let renewal = Renewal<String>(nil, of: "the key")
    let gate = Gate()
    var callers: [Task<Renewal<String>.Answer, any Error>] = []
    for _ in 0..<3 {
      callers.append(
        try await wait {
          try await renewal.value(where: { _ in true }, by: Call()) { _ in
            try await gate.wait()
            throw Failure()
          }
        })
    }
    gate.open()
    for caller in callers { await #expect(throws: Failure.self) { try await caller.value } }
  }

  @Test func conditionsMayUseTheRenewal() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    let isNew = { @Sendable (version: RenewedValue<String>) in
      if version.value == "old" { renewal.use("new") }
      return version.value == "new"
    }
    let answer = try await renewal.value(where: isNew, by: Call()) { _ in throw Failure() }
    #expect(answer.version?.value == "new")
  }

  @Test func onlyTheValueThatIsMeantIsRemoved() async throws {
    let renewal = Renewal<String>("old", of: "the key")
    renewal.remove { $0.value == "other" }
    #expect(renewal.number != nil)
    renewal.remove { $0.value == "old" }
    #expect(renewal.number == nil)
  }

  /// The renewal ends at the moment at which the value is replaced: its waiters get one of the two values, never none.
  @Test func waitersGetAValueIfItIsReplacedWhileTheRenewalEnds() async throws {
    for _ in 0..<1_000 {
      let (renewal, gate, caller) = await Renewal.running()
      async let replaced = renewal.use("outside")
      gate.open()
      #expect(await replaced)

      let value = try await caller.value.version?.value
      #expect(value == "renewed" || value == "outside")
      #expect(try await renewal.value(where: { _ in true }, by: Call()) { _ in nil }.version?.value == "outside")
    }
  }
}
