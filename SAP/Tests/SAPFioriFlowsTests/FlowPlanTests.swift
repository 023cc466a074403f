import Testing

@testable import SAPFioriFlows

@Suite("Which step runs next")
struct FlowPlanTests {
  private typealias Event = FlowPlan.Event
  private typealias Action = FlowPlan.Action

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let operation: FlowPlan.Operation
    let count: Int
    var resetsOnError = true
    let script: [(FlowPlan.Event, FlowPlan.Action)]
  }

  static let rows: [Row] = [
    .init(
      testDescription: "steps run one after another", operation: .onboard, count: 2,
      script: [
        (.begins, .run(step: 0)), (.succeeded(step: 0), .run(step: 1)), (.succeeded(step: 1), .succeed),
      ]),
    .init(
      testDescription: "a flow without steps succeeds", operation: .restore, count: 0, script: [(.begins, .succeed)]),
    .init(
      testDescription: "a failed onboarding resets all steps, also those that did not run", operation: .onboard,
      count: 3,
      script: [
        (.begins, .run(step: 0)), (.failed(step: 0), .reset(step: 0)), (.wasReset(step: 0), .reset(step: 1)),
        (.wasReset(step: 1), .reset(step: 2)), (.wasReset(step: 2), .fail),
      ]),
    .init(
      testDescription: "a failure of the last step resets all steps", operation: .onboard, count: 2,
      script: [
        (.begins, .run(step: 0)), (.succeeded(step: 0), .run(step: 1)), (.failed(step: 1), .reset(step: 0)),
        (.wasReset(step: 0), .reset(step: 1)), (.wasReset(step: 1), .fail),
      ]),
    .init(
      testDescription: "an onboarding that is not to be reset ends", operation: .onboard, count: 2,
      resetsOnError: false, script: [(.begins, .run(step: 0)), (.failed(step: 0), .fail)]),
    .init(
      testDescription: "a failed restore changes nothing", operation: .restore, count: 2,
      script: [(.begins, .run(step: 0)), (.succeeded(step: 0), .run(step: 1)), (.failed(step: 1), .fail)]),
    .init(
      testDescription: "a failed background flow changes nothing", operation: .background, count: 1,
      script: [(.begins, .run(step: 0)), (.failed(step: 0), .fail)]),
    .init(
      testDescription: "a failed new passcode changes nothing", operation: .resetPasscode, count: 1,
      script: [(.begins, .run(step: 0)), (.failed(step: 0), .fail)]),
    .init(
      testDescription: "a reset resets the steps in order, and succeeds", operation: .reset, count: 2,
      script: [
        (.begins, .reset(step: 0)), (.wasReset(step: 0), .reset(step: 1)), (.wasReset(step: 1), .succeed),
      ]),
    .init(
      testDescription: "a second answer of a step changes nothing", operation: .onboard, count: 2,
      script: [
        (.begins, .run(step: 0)), (.succeeded(step: 0), .run(step: 1)), (.failed(step: 0), .nothing),
        (.succeeded(step: 0), .nothing), (.succeeded(step: 1), .succeed),
      ]),
    .init(
      testDescription: "an answer during a reset changes nothing", operation: .onboard, count: 2,
      script: [
        (.begins, .run(step: 0)), (.failed(step: 0), .reset(step: 0)), (.succeeded(step: 0), .nothing),
        (.wasReset(step: 1), .nothing), (.wasReset(step: 0), .reset(step: 1)), (.wasReset(step: 1), .fail),
      ]),
    .init(
      testDescription: "nothing happens after the end", operation: .restore, count: 1,
      script: [
        (.begins, .run(step: 0)), (.succeeded(step: 0), .succeed), (.succeeded(step: 0), .nothing),
        (.failed(step: 0), .nothing), (.begins, .nothing),
      ]),
  ]

  @Test(arguments: rows) func eachEventHasOneAction(row: Row) {
    var plan = FlowPlan(row.operation, count: row.count, resetsOnError: row.resetsOnError)
    for (event, expected) in row.script {
      let action = plan.next(after: event)
      #expect(action == expected, "after \(event)")
    }
  }

  @Test func theFirstRetryIsAtOnceAndLaterOnesPauseUntilTheLimit() {
    var plan = RetryPlan()
    var pauses: [Duration] = []
    while let pause = plan.pause(after: .zero) { pauses.append(pause) }

    #expect(pauses.count == RetryPlan.limit)
    #expect(
      pauses.prefix(5) == [.zero, .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800)])
    #expect(pauses.last == .seconds(30))
  }

  @Test func theTimeInWhichAUserThinksIsNoFurtherPause() {
    var plan = RetryPlan()
    let first = plan.pause(after: .zero)
    let second = plan.pause(after: .milliseconds(40))
    let third = plan.pause(after: .seconds(3))
    #expect(first == .zero && second == .milliseconds(60) && third == .zero)
  }

  @Test(
    arguments: [
      (0, 0, 100.0, nil), (3, 0, 2.9, nil), (3, 0, 3, .lock), (3, 7, 6.9, .lock), (3, 7, 7, .wipe), (0, 7, 6, nil),
      (7, 3, 5, .wipe),
    ] as [(Int, Int, Double, LockWipePolicy.Violation?)])
  func aDeviceWithoutContactIsLockedAndThenWiped(
    lockDays: Int, wipeDays: Int, days: Double, expected: LockWipePolicy.Violation?
  ) {
    let now = Date(timeIntervalSinceReferenceDate: 1e9)
    let policy = LockWipePolicy(lockDays: lockDays, wipeDays: wipeDays)
    #expect(policy.violation(lastContact: now.addingTimeInterval(-days * 86_400), now: now) == expected)
    #expect(policy.violation(lastContact: nil, now: now) == nil)
  }
}
