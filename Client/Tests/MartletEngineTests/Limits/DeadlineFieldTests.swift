import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import TestSupport
import Testing

/// The field that states for a server how much time a call has left.
@Suite(.timeLimit(.minutes(5)))
struct DeadlineFieldTests {
  private let clock = ManualClock()

  private func session(_ transport: any Transport, _ field: DeadlineField = DeadlineField("X-Left")) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.limits.deadlineField = field
    configuration.clock = clock
    configuration.cache = nil
    configuration.options.retryPolicy = RetryPolicy(limit: 1)
    configuration.options.retryPolicy.random = { 1 }
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func request(_ deadline: Duration?) -> HTTPRequest {
    var request = HTTPRequest(.get, origin)
    request.options.deadline = deadline
    return request
  }

  @Test func eachAttemptSaysWhatIsLeft() async throws {
    let transport = RecordingTransport(around: ScriptedTransport(.status(.serviceUnavailable), .text("ok")))
    let session = session(transport)
    async let answer = session.data(for: request(.seconds(10)))
    _ = try await transport.request(1)
    try await clock.sleepers(2)  // the deadline, and the wait before the retry
    clock.advance(by: .milliseconds(250))
    _ = try await answer
    #expect(transport.records.map { $0.request.fields["X-Left"] } == ["10000", "9750"])
  }

  @Test func withoutADeadlineThereIsNoFieldAndTheCallersOwnIsKept() async throws {
    let transport = ScriptedTransport(.text("ok"), .text("ok"))
    let session = session(transport)
    _ = try await session.data(for: request(nil))
    var own = request(.seconds(1))
    own.fields["X-Left"] = "7"
    _ = try await session.data(for: own)
    #expect(transport.requests.map { $0.fields[values: "X-Left"] } == [[], ["7"]])
  }

  @Test func whatHasNoTimeLeftIsNotSent() async throws {
    let transport = ScriptedTransport()
    let error = await #expect(throws: HTTPError.self) { try await session(transport).data(for: request(.zero)) }
    #expect(error?.kind == .deadlineExceeded)
    #expect(transport.requests.isEmpty)
  }

  @Test func aServerReadsTheTimeThatAClientHasWritten() {
    let table: [(DeadlineField.Format, Duration, String)] = [
      (.milliseconds, .milliseconds(1500), "1500"), (.milliseconds, .microseconds(1500), "1"),
      (.milliseconds, .nanoseconds(1), "1"), (.seconds, .milliseconds(1500), "1.500"),
      (.seconds, .milliseconds(7), "0.007"),
      (.seconds, .seconds(60), "60.000"), (.grpc, .milliseconds(1500), "1500m"),
      (.grpc, .seconds(1_000_000), "1000000S"),
    ]
    for (format, time, text) in table {
      let field = DeadlineField("X-Left", format: format)
      #expect(field.value(for: time) == text)
      let read = field.time(in: ["x-left": text])
      #expect(read.map { $0 <= time || $0 == .milliseconds(1) } == true, "\(text)")
    }
  }

  @Test func otherTextIsNoTime() {
    let table: [(DeadlineField.Format, String, Duration?)] = [
      (.milliseconds, "", nil), (.milliseconds, "-1", nil), (.milliseconds, "1.5", nil), (.milliseconds, "0", .zero),
      (.milliseconds, "9999999999999", nil), (.seconds, "1", .seconds(1)), (.seconds, "1.5", .milliseconds(1500)),
      (.seconds, "1.", nil), (.seconds, ".5", nil), (.seconds, "1.2345678", .milliseconds(1234)),
      (.seconds, "1.x", nil),
      (.grpc, "10", nil), (.grpc, "1H", .seconds(3600)), (.grpc, "2M", .seconds(120)), (.grpc, "3u", .microseconds(3)),
      (.grpc, "4n", .nanoseconds(4)), (.grpc, "m", nil), (.grpc, "123456789m", nil), (.grpc, "1x", nil),
    ]
    for (format, text, expected) in table {
      #expect(DeadlineField("X-Left", format: format).time(in: ["X-Left": text]) == expected, "\(text)")
    }
    #expect(DeadlineField("X-Left").time(in: [:]) == nil)
  }
}
