import CallDoubles
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("The log", .timeLimit(.minutes(5)))
struct LogListenerTests {
  private final class Lines: LogSink {
    private let minimum: LogLevel
    private let lines = Mutex<[String]>([])

    init(from minimum: LogLevel = .debug) { self.minimum = minimum }

    /// The lines without the numbers of calls, which differ in every run.
    var texts: [String] {
      lines.withLock { $0 }.map { line in
        let parts = line.split(separator: " ", maxSplits: 2)
        return "\(parts[0]) \(parts[2])"
      }
    }

    func isEnabled(_ level: LogLevel) -> Bool { level >= minimum }
    func write(_ line: String, at level: LogLevel) { lines.withLock { $0.append("\(level) \(line)") } }
  }

  private func log(
    _ request: HTTPRequest, from level: LogLevel = .info, _ transport: any Transport
  ) async -> [String] {
    let lines = Lines(from: level)
    var configuration = SessionConfiguration()
    configuration.listeners = [LogListener(to: lines, clock: ManualClock())]
    _ = try? await HTTPSession(transport: transport, configuration: configuration).data(for: request)
    return lines.texts
  }

  /// The standard rule hides neither.
  @Test func everyLineFollowsTheRuleOfTheListener() async throws {
    let lines = Lines(from: .trace)
    var configuration = SessionConfiguration()
    configuration.listeners = [
      LogListener(to: lines, redaction: .standard.hiding(fields: ["X-Tenant"], names: ["iban"]), clock: ManualClock())
    ]
    let request = HTTPRequest(.get, url("http://a.example/?iban=DE99"), fields: ["X-Tenant": "acme"])
    let transport = TestTransport { _ in .text("ok", fields: ["X-Tenant": "acme"]) }
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: request)
    #expect(lines.texts.contains { $0.contains("X-Tenant") })
    #expect(!lines.texts.contains { $0.contains("acme") || $0.contains("DE99") })
  }

  @Test func aLabelStandsBeforeTheRequestAndInTheMetadata() async throws {
    let transport = ScriptedTransport(.text("hello"))
    var request = HTTPRequest(.get, origin)
    request.options.label = "list\nOrders"
    #expect(
      await log(request, transport) == ["info list Orders: GET http://a.example/ → 200 OK, 5 B received, 0 ms"])
  }

  @Test(arguments: [
    (HTTPStatus.ok, "info GET http://a.example/ → 200 OK, 5 B received, 0 ms"),
    (404, "info GET http://a.example/ → 404 Not Found, 5 B received, 0 ms"),
    (503, "warning GET http://a.example/ → 503 Service Unavailable, 5 B received, 0 ms"),
  ])
  func aResponseIsOneLineOfItsLevel(status: HTTPStatus, line: String) async {
    let transport = ScriptedTransport(.text("hello", status: status))

    #expect(await log(HTTPRequest(.get, origin), transport) == [line])
  }

  @Test func aFailureIsLoggedAsAnErrorAndACancellationIsNot() async {
    let failing = ScriptedTransport(.failure(HTTPError(.cannotConnect, "nobody\nanswers")))
    let cancelling = ScriptedTransport(.failure(CancellationError()))

    #expect(
      await log(HTTPRequest(.get, origin), failing)
        == ["error GET http://a.example/ → failed with cannotConnect: nobody answers, 0 ms"])
    #expect(await log(HTTPRequest(.get, origin), cancelling) == ["info GET http://a.example/ → cancelled, 0 ms"])
  }

  @Test(arguments: [
    ("a\u{85}b", "a b"), ("a\u{7F}b\u{0}", "a b "), ("3\u{A0}§ ©", "3\u{A0}§ ©"), ("é\t…", "é …"), ("über", "über"),
  ])
  func controlCharactersOfAMessageBecomeSpaces(_ message: String, shown: String) async {
    let failing = ScriptedTransport(.failure(HTTPError(.cannotConnect, message)))

    #expect(
      await log(HTTPRequest(.get, origin), failing)
        == ["error GET http://a.example/ → failed with cannotConnect: \(shown), 0 ms"])
  }

  @Test func intermediateEventsAreLoggedAtDebug() async {
    let target = url("http://u:p@a.example/?q=1&token=hidden")
    let transport = ScriptedTransport(.redirect(to: "/new?key=hidden"), .text(""))

    #expect(
      await log(HTTPRequest(.get, target), from: .debug, transport) == [
        "debug attempt 1: GET http://a.example/?q=1&token=***",
        "debug again: 302 redirect to http://a.example/new?…",
        "debug attempt 2: GET http://a.example/new?key=***",
        "info GET http://a.example/new?key=*** → 200 OK, 2 attempts, 0 B received, 0 ms",
      ])
  }

  @Test(
    arguments: [
      (.resend(HTTPRequest(.get, origin), after: .zero, reason: "busy", failure: nil), "again: busy"),
      (.resend(HTTPRequest(.get, origin), after: .seconds(2), reason: "busy", failure: nil), "again in 2 s: busy"),
      (.cached(.stale), "the response comes from the cache, and is stale"),
    ] as [(Event, String)])
  func aLineHasTheWordsOfTheEventsDescription(_ event: Event, _ words: String) {
    let lines = Lines()

    Call(listeners: [LogListener(to: lines)]).emit(event)

    #expect("\(event)" == words)
    #expect(lines.texts == ["debug \(words)"])
  }

  @Test func theLineContainsTheTransportsMeasurements() async {
    let transport = MeasuredTransport()
    let request = HTTPRequest(.post, origin, body: .data(Data(count: 1234)))

    #expect(
      await log(request, transport)
        == ["info POST http://a.example/ → 200 OK, 1.2 kB sent, 35 MB received, 0 ms, HTTP/2 on a reused connection"])
  }

  /// Reports sizes like a transport.
  private struct MeasuredTransport: Transport {
    func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
      var metrics = TransferMetrics()
      (metrics.bytesSent, metrics.bytesReceived) = (1234, 34_600_000)
      (metrics.version, metrics.reusedConnection) = (.http2, true)
      call.emit(.metrics(metrics))
      return .text("")
    }
  }

  /// Keeps whole entries.
  private final class Entries: LogSink {
    private let kept = Mutex<[LogEntry]>([])
    var all: [LogEntry] { kept.withLock { $0 } }

    func write(_ line: String, at level: LogLevel) { write(LogEntry(line, at: level)) }
    func write(_ entry: LogEntry) { kept.withLock { $0.append(entry) } }
  }

  @Test func aSinkGetsTheFactsOfACallAsValues() async throws {
    let entries = Entries(), clock = ManualClock()
    let transport = TestTransport { request in
      guard request.url.path() != "/" else {
        return .text("", status: .found, fields: ["Location": "/new?token=hidden"])
      }
      clock.advance(by: .milliseconds(1500))
      return .text("hello", status: .notFound)
    }
    var configuration = SessionConfiguration()
    configuration.listeners = [LogListener(to: entries, clock: clock)]
    configuration.interceptors = [CorrelationInterceptor { "seven" }]
    var request = HTTPRequest(.get, origin)
    request.options.label = "orders"
    _ = try await HTTPSession(transport: transport, configuration: configuration).data(for: request)

    let entry = try #require(entries.all.last)
    clock.advance(by: .seconds(10))  // an entry may be read later
    #expect(entry.level == .info)
    let facts = entry.metadata.dropFirst().map { "\($0.name)=\($0.value)" }
    #expect(
      facts == [
        "label=orders", "request.id=seven", "attempt=2", "http.request.method=GET",
        "url.full=http://a.example/new?token=***",
        "server.address=a.example", "server.port=80", "http.response.status_code=404", "duration=1.5",
        "http.request.body.size=0", "http.response.body.size=5",
      ])
    #expect(entry["call"].map { if case .integer = $0 { true } else { false } } == true)
    #expect(entry["duration"] == .number(1.5))
    let levels = Set(entries.all.map(\.level))
    #expect(levels == [.trace, .debug, .info])
    #expect(!entries.all.contains { "\($0)".contains("hidden") })
  }

  @Test func aFailureHasItsKindAmongTheFacts() async throws {
    let entries = Entries()
    var configuration = SessionConfiguration()
    configuration.listeners = [LogListener(to: entries)]
    let session = HTTPSession(
      transport: ScriptedTransport(.failure(HTTPError(.cannotConnect, "nobody"))), configuration: configuration)
    _ = try? await session.data(for: HTTPRequest(.get, origin))
    #expect(entries.all.last?["error.type"] == .text("cannotConnect"))
    #expect(entries.all.last?["http.response.status_code"] == nil)
  }

  @Test func aLineOfJSONHasTheMetadata() {
    let log = StandardErrorLog(format: .json) { Date(timeIntervalSince1970: 0) }
    let entry = LogEntry(
      "a \"quoted\" \\ line\u{7}ü", at: .notice,
      metadata: [("a", .text("b")), ("n", .integer(-7)), ("d", .number(1.5)), ("i", .number(.infinity))])
    #expect(
      log.text(of: entry)
        == #"{"time":"1970-01-01T00:00:00.000Z","level":"notice","message":"a \"quoted\" \\ line\u0007ü","a":"b","#
        + #""n":-7,"d":1.5,"i":null}"#)
    #expect(
      StandardErrorLog { Date(timeIntervalSince1970: 0) }.text(of: entry).hasPrefix(
        "1970-01-01T00:00:00.000Z notice a "))
  }

  @Test func levelsAreOrdered() {
    #expect(LogLevel.allCases == LogLevel.allCases.sorted())
    #expect(!StandardErrorLog().isEnabled(.debug) && StandardErrorLog().isEnabled(.info))
    #expect(StandardErrorLog(from: .debug).isEnabled(.debug))
  }
}
