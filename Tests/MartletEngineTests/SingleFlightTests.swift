import MartletEngine
import MartletTesting
import Synchronization
import Testing

@Suite("Work that is shared", .timeLimit(.minutes(5)))
struct SingleFlightTests {
  private struct Failure: Error {}

  /// Starts a caller, and returns when so many wait.
  private func join(
    _ flight: SingleFlight<String, Int>, _ key: String, waiting: Int = 1,
    _ work: @escaping @Sendable () async throws -> Int
  ) async -> Task<Int, any Error> {
    let task = Task { try await flight.value(for: key, work) }
    while flight.waiting(for: key) < waiting { await Task.yield() }
    return task
  }

  @Test func allWhoAskMeanwhileShareOnePieceOfWork() async throws {
    let flight = SingleFlight<String, Int>()
    let gate = Gate()
    let runs = Mutex(0)
    var callers: [Task<Int, any Error>] = []
    for number in 1...20 {
      callers.append(
        await join(flight, "a", waiting: number) {
          try await gate.wait()
          return runs.withLock { runs in
            runs += 1
            return runs
          }
        })
    }
    gate.open()

    for caller in callers { #expect(try await caller.value == 1) }
    #expect(flight.waiting(for: "a") == 0)
  }

  @Test func keysDoNotWaitForEachOther() async throws {
    let flight = SingleFlight<String, Int>()
    let gate = Gate()
    let slow = await join(flight, "a") {
      try await gate.wait()
      return 1
    }

    #expect(try await flight.value(for: "b") { 2 } == 2)
    gate.open()
    #expect(try await slow.value == 1)
  }

  @Test func afterTheEndTheWorkIsDoneAnew() async throws {
    let flight = SingleFlight<String, Int>()
    #expect(try await flight.value(for: "a") { 1 } == 1)
    #expect(try await flight.value(for: "a") { 2 } == 2)
  }

  @Test func whatTheWorkThrowsIsThrownToAll() async throws {
    let flight = SingleFlight<String, Int>()
    await #expect(throws: Failure.self) { try await flight.value(for: "a") { throw Failure() } }
    #expect(try await flight.value(for: "a") { 2 } == 2)
  }

  @Test func aCancelledCallerLeavesAndTheWorkGoesOn() async throws {
    let flight = SingleFlight<String, Int>()
    let gate = Gate()
    let first = await join(flight, "a") {
      try await gate.wait()
      return 1
    }
    let second = await join(flight, "a", waiting: 2) { 2 }

    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    gate.open()

    #expect(try await second.value == 1)
  }

  @Test func workThatNobodyWaitsForGoesOnForThoseWhoComeLater() async throws {
    let flight = SingleFlight<String, Int>()
    let gate = Gate()
    let ended = Gate()
    let call = await join(flight, "a") {
      defer { ended.open() }
      try await gate.wait()
      return 1
    }

    call.cancel()
    await #expect(throws: CancellationError.self) { try await call.value }
    let late = await join(flight, "a") { 2 }
    gate.open()

    #expect(try await late.value == 1)
    #expect(ended.isOpen)
  }

  @Test func aCancelledCallerDoesNotStartAnything() async throws {
    let flight = SingleFlight<String, Int>()
    let gate = Gate()
    let call = Task {
      try? await gate.wait()
      return try await flight.value(for: "a") {
        Issue.record("the work was started")
        return 1
      }
    }
    call.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await call.value }
  }

  @Test func abandonedWorkIsCancelledWhereThatIsAskedFor() async throws {
    let flight = SingleFlight<String, Int>(abandoned: .isCancelled)
    let stopped = Gate()
    let call = await join(flight, "a") {
      defer { stopped.open() }
      try await Gate().wait()
      return 1
    }

    call.cancel()

    try await stopped.wait()
    #expect(try await flight.value(for: "a") { 2 } == 2)
  }
}
