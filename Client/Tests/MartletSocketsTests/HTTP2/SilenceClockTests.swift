import Testing

@testable import MartletSockets

/// When a connection that leaves its requests without a byte is tested.
@Suite(.timeLimit(.minutes(5)))
struct SilenceClockTests {
  /// What happens to the connection at a time; times are in milliseconds.
  enum Step {
    case sent(UInt64)
    case bytes(UInt64, isAwaited: Bool)
    case response
    /// A request ends, and the connection is tested or not.
    case ends(UInt64, tests: Bool)
  }

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let steps: [Step]
  }

  /// With a patience of 500, and a pause of 15,000.
  private static let table = [
    Row(testDescription: "no request was sent", steps: [.ends(9_000, tests: false)]),
    Row(testDescription: "a request that ends at once", steps: [.sent(0), .ends(499, tests: false)]),
    Row(testDescription: "a request that ends later", steps: [.sent(0), .ends(500, tests: true)]),
    Row(
      testDescription: "short requests, one after another",
      steps: [
        .sent(0), .ends(200, tests: false), .sent(200), .ends(400, tests: false), .sent(400), .ends(600, tests: true),
      ]),
    Row(
      testDescription: "bytes that nothing awaits",
      steps: [.sent(0), .bytes(300, isAwaited: false), .ends(900, tests: false)]),
    Row(
      testDescription: "bytes while a request waits",
      steps: [.sent(0), .bytes(300, isAwaited: true), .ends(799, tests: false), .ends(800, tests: true)]),
    Row(
      testDescription: "the answer to a test, without a response",
      steps: [
        .sent(0), .ends(600, tests: true), .bytes(610, isAwaited: false), .sent(700), .ends(15_599, tests: false),
        .ends(15_600, tests: true),
      ]),
    Row(
      testDescription: "a response after a test",
      steps: [
        .sent(0), .ends(600, tests: true), .bytes(610, isAwaited: false), .sent(700), .response,
        .bytes(710, isAwaited: false), .sent(720), .ends(1_220, tests: true),
      ]),
  ]

  @Test(arguments: table) func aConnectionThatIsSilentForTooLongIsTested(_ row: Row) {
    var clock = SilenceClock()
    for step in row.steps {
      switch step {
      case .sent(let time): clock.sent(at: time)
      case .bytes(let time, let isAwaited): clock.received(at: time, isAwaited: isAwaited)
      case .response: clock.beganResponse()
      case .ends(let time, let tests):
        #expect(clock.suspects(at: time, patience: 500, pause: 15_000) == tests, "at \(time)")
      }
    }
  }
}
