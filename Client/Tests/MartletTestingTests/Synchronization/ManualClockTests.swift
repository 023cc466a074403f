import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ManualClockTests {
  @Test func itAdvancesOnlyWhenItIsTold() {
    let clock = ManualClock()
    let start = clock.now
    clock.advance(by: .seconds(2))
    clock.advance(by: .seconds(-1))
    #expect(start.duration(to: clock.now) == .seconds(2))
  }

  @Test func aSleeperResumesAtItsDeadlineAndNotBefore() async throws {
    let clock = ManualClock()
    let task = Task {
      try await clock.sleep(for: .seconds(10))
      return clock.now.elapsed
    }
    try await clock.sleepers(1)

    clock.advance(by: .seconds(9))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(1))

    #expect(try await task.value == .seconds(10))
  }

  @Test func sleepersThatWakeUpLaterAreNotCounted() async throws {
    let clock = ManualClock()
    let deadline = Task { try await clock.sleep(for: .seconds(300)) }
    try await clock.sleepers(1)
    let waiting = Task { try await clock.sleepers(1, within: .seconds(30)) }
    let retry = Task { try await clock.sleep(for: .seconds(30)) }

    try await waiting.value

    #expect(clock.pendingWakeUps == [.seconds(30), .seconds(300)])
    clock.advance(by: .seconds(30))
    try await retry.value
    #expect(clock.pendingWakeUps == [.seconds(270)])
    deadline.cancel()
  }

  @Test func sleepersResumeInTheOrderOfTheirDeadlines() async throws {
    let clock = ManualClock()
    let awake = (0...3).map { _ in Gate() }
    let tasks = [3, 1, 2].map { seconds in
      Task {
        try await clock.sleep(for: .seconds(seconds))
        awake[seconds].open()
      }
    }
    try await clock.sleepers(3)

    for seconds in 1...3 {
      clock.advance(by: .seconds(1))
      try await awake[seconds].wait()
      #expect(awake.map(\.isOpen) == (0...3).map { $0 > 0 && $0 <= seconds })
    }
    for task in tasks { try await task.value }
  }

  @Test func oneLongStepResumesAll() async throws {
    let clock = ManualClock()
    let tasks = [3, 1, 2].map { seconds in Task { try await clock.sleep(for: .seconds(seconds)) } }
    try await clock.sleepers(3)
    clock.advance(by: .seconds(100))
    for task in tasks { try await task.value }
    #expect(clock.now.elapsed == .seconds(100))
  }

  @Test func sleepingUntilAPastDeadlineReturnsAtOnce() async throws {
    let clock = ManualClock()
    try await clock.sleep(until: clock.now)
    try await clock.sleep(for: .seconds(-1))
    #expect(clock.now.elapsed == .zero)
  }

  @Test func cancellingASleeperThrows() async throws {
    let clock = ManualClock()
    let task = Task { try await clock.sleep(for: .seconds(10)) }
    try await clock.sleepers(1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }

    let early = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await clock.sleep(for: .seconds(10))
    }
    await #expect(throws: CancellationError.self) { try await early.value }
  }
}
