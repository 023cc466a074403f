@_spi(Toolkit) import MartletTesting
import Testing

@_spi(Toolkit) @testable import MartletEngine

@Suite(.timeLimit(.minutes(5)))
struct AlarmTests {
  @TaskLocal private static var isInTest = false

  /// Sets an alarm that is due, within a task-local value. Its action records the value that it sees.
  private static func dueAlarm(on clock: any Clock<Duration>, to runs: Awaitable<[Bool]>) -> Alarm {
    $isInTest.withValue(true) { Alarm(after: .zero, on: clock) { runs.update { $0.append(isInTest) } } }
  }

  @Test(arguments: [any Clock<Duration>](arrayLiteral: ContinuousClock(), ManualClock()))
  func anAlarmThatIsDueRunsItsActionOnceAndWithoutTaskLocals(_ clock: any Clock<Duration>) async throws {
    let runs = Awaitable<[Bool]>([])
    let alarm = Self.dueAlarm(on: clock, to: runs)
    _ = try await runs.wait { $0.first }
    alarm.cancel()
    #expect(runs.value == [false])
  }

  @Test func anAlarmRunsWhenItsTimeHasCome() async throws {
    let clock = ManualClock()
    let fired = Gate()
    let alarm = Alarm(after: .seconds(10), on: clock) { fired.open() }
    try await clock.sleepers(1)

    clock.advance(by: .seconds(9))
    #expect(!fired.isOpen)
    clock.advance(by: .seconds(1))

    try await fired.wait()
    alarm.cancel()
  }

  @Test(arguments: [any Clock<Duration>](arrayLiteral: ContinuousClock(), ManualClock()))
  func anAlarmThatIsNotKeptRunsItsAction(_ clock: any Clock<Duration>) async throws {
    let fired = Gate()
    _ = Alarm(after: .zero, on: clock) { fired.open() }
    try await fired.wait()
  }

  @Test func alarmsOfTheSharedTimerAreIndependent() async throws {
    let (first, second) = (Gate(), Gate())
    let later = (0..<1000).map { _ in
      Alarm(after: .seconds(3600), on: ContinuousClock()) { Issue.record("it is not due") }
    }
    for alarm in later.dropLast() { alarm.cancel() }

    let alarm = Alarm(after: .milliseconds(20), on: ContinuousClock()) { first.open() }
    let earlier = Alarm(after: .milliseconds(2), on: ContinuousClock()) { second.open() }
    try await second.wait()
    try await first.wait()

    for alarm in later + [alarm, earlier] { alarm.cancel() }
  }

  @Test func aCancelledAlarmReleasesItsAction() {
    final class Owner: Sendable {}
    for clock in [ContinuousClock(), ManualClock()] as [any Clock<Duration>] {
      weak var released: Owner?
      do {
        let owner = Owner()
        released = owner
        let alarm = Alarm(after: .seconds(3600), on: clock) { [owner] in _ = owner }
        alarm.cancel()
      }
      #expect(released == nil, "\(type(of: clock))")
    }
  }
}
