import CallDoubles
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Shared work", .timeLimit(.minutes(5)))
struct SharedWorkTests {
  private struct Failure: Error {}

  /// Starts a caller, and returns when the caller waits.
  private func join(
    _ works: SharedWork<String, Int>, _ key: String, _ work: @escaping @Sendable () async throws -> Int
  ) async throws -> Task<Int?, any Error> {
    let waiting = works.waiterCount(for: key)
    let executor = WatchedExecutor()
    let task = Task(executorPreference: executor) { try await works.value(for: key, work) }
    try await executor.idle()
    #expect(works.waiterCount(for: key) == waiting + 1)
    return task
  }

  @Test func concurrentCallersShareOneRunOfTheWork() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    let runs = Mutex(0)
    var callers: [Task<Int?, any Error>] = []
    for _ in 1...20 {
      callers.append(
        try await join(works, "a") {
          try await gate.wait()
          return runs.withLock { runs in
            runs += 1
            return runs
          }
        })
    }
    #expect(works.waiterCount(for: "a") == 20)
    gate.open()

    for caller in callers { #expect(try await caller.value == 1) }
    #expect(works.waiterCount(for: "a") == 0)
  }

  @Test func aWorkDoesNotWaitForItselfWithTheCallThatStartedIt() async throws {
    let works = SharedWork<String, Int>()
    let call = Call()
    let value = try await works.value(for: "a", by: call) {
      try await works.value(for: "a", by: call) { 1 } ?? 2
    }
    #expect(value == 2)
  }

  /// The login of Anna's call needs a token; the token's renewal needs the login.
  @Test func worksDoNotWaitForEachOtherWithCallsFromBefore() async throws {
    let works = SharedWork<String, Int>()
    let (forLogin, forToken) = (Call(), Call())
    let (loginStarted, tokenStarted) = (Gate(), Gate())
    async let token = works.value(for: "token", by: forToken) {
      tokenStarted.open()
      try await loginStarted.wait()
      return try await works.value(for: "login", by: forToken) { 1 } ?? 10
    }
    try await tokenStarted.wait()
    async let login = works.value(for: "login", by: forLogin) {
      loginStarted.open()
      return try await works.value(for: "token", by: forLogin) { 2 } ?? 20
    }
    let values = try await [token, login]
    #expect(values == [10, 10] || values == [20, 20], "one continues without the other, which gets its result")
  }

  /// The graph of waits knows works by their address, which a later work must not get while the wait lasts.
  @Test func aWorkThatWaitsIsKeptUntilItsWaitEnds() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    weak var outer: RunningWork<Void>?
    let inner: Task<Int?, any Error>
    do {
      let work = RunningWork<Void>(owner: UniqueID())
      outer = work
      inner = try await work.context.perform {
        try await join(works, "a") {
          try await gate.wait()
          return 1
        }
      }
      work.finish(.success(()))
    }
    #expect(outer != nil)
    gate.open()
    #expect(try await inner.value == 1)
    try await until { outer == nil }
  }

  @Test func keysDoNotWaitForEachOther() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    let slow = try await join(works, "a") {
      try await gate.wait()
      return 1
    }

    #expect(try await works.value(for: "b") { 2 } == 2)
    gate.open()
    #expect(try await slow.value == 1)
  }

  @Test func afterTheEndTheWorkRunsAgain() async throws {
    let works = SharedWork<String, Int>()
    #expect(try await works.value(for: "a") { 1 } == 1)
    #expect(try await works.value(for: "a") { 2 } == 2)
  }

  @Test func anErrorOfTheWorkIsThrownToAllCallers() async throws {
    let works = SharedWork<String, Int>()
    await #expect(throws: Failure.self) { try await works.value(for: "a") { throw Failure() } }
    #expect(try await works.value(for: "a") { 2 } == 2)
  }

  @Test func aCancelledCallerReturnsAndTheWorkContinues() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    let first = try await join(works, "a") {
      try await gate.wait()
      return 1
    }
    let second = try await join(works, "a") { 2 }

    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    gate.open()

    #expect(try await second.value == 1)
  }

  @Test func workWithoutCallersContinuesForLaterOnes() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    let ended = Gate()
    let call = try await join(works, "a") {
      defer { ended.open() }
      try await gate.wait()
      return 1
    }

    call.cancel()
    await #expect(throws: CancellationError.self) { try await call.value }
    let late = try await join(works, "a") { 2 }
    gate.open()

    #expect(try await late.value == 1)
    #expect(ended.isOpen)
  }

  @Test func aCancelledCallerDoesNotStartAnything() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    let call = Task {
      try? await gate.wait()
      return try await works.value(for: "a") {
        Issue.record("the work was started")
        return 1
      }
    }
    call.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await call.value }
  }

  @Test func workThatNeedsItselfGetsNilAndEnds() async throws {
    let works = SharedWork<String, Int>()
    let value = try await works.value(for: "a") {
      #expect(works.isCurrent)
      return try await works.value(for: "a") { 1 } ?? 2
    }
    #expect(value == 2)
    #expect(!works.isCurrent)
  }

  @Test func workMayWaitForWorkOfAnotherKey() async throws {
    let works = SharedWork<String, Int>()
    #expect(try await works.value(for: "a") { try await works.value(for: "b") { 1 } ?? 2 } == 1)
  }

  @Test func twoWorksThatNeedEachOtherBothEnd() async throws {
    let works = SharedWork<String, Int>()
    let (first, second) = (Gate(), Gate())
    async let a = works.value(for: "a") {
      first.open()
      try await second.wait()
      return try await works.value(for: "b") { 0 } ?? 1
    }
    async let b = works.value(for: "b") {
      second.open()
      try await first.wait()
      return try await works.value(for: "a") { 0 } ?? 1
    }
    // one of them got nil from the other and returned its own value
    let values = try await [a, b]
    #expect(values == [1, 1])
  }

  @Test func workInADetachedTaskIsRecognizedByItsContext() async throws {
    let works = SharedWork<String, Int>()
    let value = try await works.value(for: "a") {
      let context = CallContext.current
      return try await Task.detached {
        #expect(!works.isCurrent)
        return try await context.perform { try await works.value(for: "a") { 1 } ?? 2 }
      }.value
    }
    #expect(value == 2)
  }

  @Test func aTaskThatOutlivesItsWorkIsNotPartOfIt() async throws {
    let works = SharedWork<String, Int>()
    let gate = Gate()
    let left = Mutex<Task<Int?, any Error>?>(nil)
    _ = try await works.value(for: "a") {
      left.withLock { left in
        left = Task {
          try await gate.wait()
          return try await works.value(for: "a") { 2 }
        }
      }
      return 1
    }
    gate.open()
    #expect(try await left.withLock { $0 }?.value == 2)
  }

  /// Each call begins the next one before it ends, so that contexts are nested.
  @Test func contextsOfEndedCallsAreReleased() {
    let outer = Call()
    weak var weakMiddle: Call?
    var inner: Call?
    outer.context.perform {
      let middle = Call()
      weakMiddle = middle
      middle.context.perform {
        inner = Call()
      }
      middle.end(nil)
    }
    inner?.context.perform { _ = Call() }
    #expect(weakMiddle == nil)
    #expect(inner?.parent.works.map { $0 === outer } == [true])
  }
}
