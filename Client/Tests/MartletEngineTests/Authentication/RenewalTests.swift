import CallDoubles
@_spi(Credentials) @testable import MartletEngine
import MartletTesting
import Synchronization
import Testing

/// The promises of ``Renewal``, one test for each row of its table, and what happens at the same moment.
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
    let answer = try await renewal.value(where: { _ in true }, by: Call()) { _ in
      try await renewal.value(where: { _ in true }, by: Call()) { _ in "inner" }.isSkipped ? "skipped" : "waited"
    }
    #expect(answer.version?.value == "skipped")
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
      let renewal = Renewal<String>(nil, of: "the key")
      let gate = Gate()
      let caller = Task {
        try await renewal.value(where: { _ in true }, by: Call()) { _ in
          try await gate.wait()
          return "renewed"
        }
      }
      while renewal.running == nil { await Task.yield() }
      async let replaced: Void = renewal.use("outside")
      gate.open()
      await replaced

      let value = try await caller.value.version?.value
      #expect(value == "renewed" || value == "outside")
      #expect(try await renewal.value(where: { _ in true }, by: Call()) { _ in nil }.version?.value == "outside")
    }
  }

  /// The same with a sign-out: its waiters get the value that was obtained before, or the error; never "no value".
  @Test func waitersLearnOfASignOutWhileTheRenewalEnds() async throws {
    for _ in 0..<1_000 {
      let renewal = Renewal<String>(nil, of: "the key")
      let gate = Gate()
      let caller = Task {
        try await renewal.value(where: { _ in true }, by: Call()) { _ in
          try await gate.wait()
          return "renewed"
        }
      }
      while renewal.running == nil { await Task.yield() }
      async let forgotten: Void = renewal.forget()
      gate.open()
      await forgotten

      switch await caller.result {
      case .success(let answer): #expect(answer.version?.value == "renewed")
      case .failure(let error): #expect((error as? HTTPError)?.kind == HTTPError.signedOut.kind)
      }
      #expect(renewal.number == nil)
    }
  }
}
