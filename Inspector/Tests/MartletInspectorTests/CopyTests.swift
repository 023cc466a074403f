@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) @testable import MartletInspector
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@Suite("What the inspector copies and explains", .timeLimit(.minutes(5)))
struct InspectorCopyTests {
  private func copies(of request: HTTPRequest, _ run: InspectorRun) async throws -> CallDetails {
    await run.call(request, ScriptedTransport(.text("a")))
    let log = run.inspector.log
    return CallDetails(try #require(log.state.calls.last), log)
  }

  @Test func copiesHaveTheTypeThatTheBodyGives() async throws {
    let run = try InspectorRun()
    var request = HTTPRequest(.post, "http://a.example/")
    request.body = .form([("user", "anna"), ("password", "secret")])
    let copies = try await copies(of: request, run).copies
    for name in ["curl", "martlet", "Swift"] {
      let copy = try #require(copies[name])
      #expect(copy.contains("application/x-www-form-urlencoded"), "\(copy)")
      #expect(copy.contains("user=anna&password=***"), "\(copy)")
    }
  }

  @Test func aBodyThatIsNoTextIsCopied() async throws {
    let run = try InspectorRun()
    var request = HTTPRequest(.put, "http://a.example/", fields: [.contentType: "image/png"])
    request.body = .data(Data([0x89, 0x50, 0, 0xFF]))
    let copies = try await copies(of: request, run).copies
    #expect(try #require(copies["Swift"]).contains(#"request.body = .data(Data(base64Encoded: "iVAA/w==")!)"#))
    #expect(try #require(copies["curl"]).contains(#"printf '\211P\000\377' | curl"#))
    #expect(try #require(copies["martlet"]).contains(#"printf '\211P\000\377' | martlet put"#))
  }

  @Test func copiesTellThatTheyLackTheBody() async throws {
    let run = try InspectorRun { $0.bodyLimit = 4 }
    var request = HTTPRequest(.post, "http://a.example/")
    request.body = .data(Data("a long text".utf8))
    #expect(try await copies(of: request, run).omissions.body == "cut off after 4 of 11 bytes")
  }

  @Test func anArchivesRequestIsCopiedWithoutTheFieldsOfItsConnection() throws {
    let archive = try HAR(
      json: Data(
        """
        {"log": {"entries": [{"request": {"method": "POST", "url": "https://a.example/",
          "headers": [{"name": ":authority", "value": "a.example"}, {"name": "Host", "value": "a.example"},
            {"name": "Content-Length", "value": "3"}, {"name": "Connection", "value": "keep-alive"},
            {"name": "Accept-Encoding", "value": "gzip, br"}, {"name": "X-A", "value": "b"}],
          "postData": {"mimeType": "application/json", "text": "{ }"}}, "response": {"status": 200}}]}}
        """.utf8))
    var options = Inspector.Options()
    options.isAnnounced = false
    let log = try Inspector(showing: archive, options).log
    let copies = CallDetails(try #require(log.state.calls.first), log).copies
    for name in ["curl", "martlet", "Swift"] {
      let copy = try #require(copies[name])
      #expect(copy.contains("X-A") && copy.contains("application/json"), "\(copy)")
      for absent in ["Content-Length", "Connection", "authority", "Host", "gzip"] {
        #expect(!copy.contains(absent), "\(copy)")
      }
    }
    #expect(try #require(copies["curl"]).contains("--compressed"))
  }

  /// browsertime 522, network-viewer 67.
  @Test func anArchiveWithoutDatesAndPhasesIsOnTheTimeAxis() throws {
    let archive = try HAR(
      json: Data(
        """
        {"log": {"entries": [
          {"startedDateTime": "", "time": 40, "request": {"url": "http://a.example/1"}, "response": {"status": 200}},
          {"startedDateTime": "2026-01-01T00:00:01Z", "request": {"url": "http://a.example/2"},
            "response": {"status": 200}, "timings": {"wait": 5}}]}}
        """.utf8))
    var options = Inspector.Options()
    options.isAnnounced = false
    let log = try Inspector(showing: archive, options).log
    let rows = log.state.calls.map { CallDetails($0, log).summary }
    #expect(rows.map(\.start) == [0, 0])
    #expect(rows.map(\.end) == [40, 5])
    #expect(rows.map { $0.bars.map(\.length) } == [[40], [5]])
  }

  /// proxyman-windows-linux 560: Firefox does not read archives without pages.
  @Test func anExportedArchiveHasPages() async throws {
    let run = try InspectorRun()
    await run.call(HTTPRequest(.get, "http://a.example/"), ScriptedTransport(.text("a")))
    let archive = try HAR(json: Data(try await run.text("/archive").utf8))
    #expect(archive.log.pages == [] && archive.log.entries.count == 1)
  }

  @Test func bodiesWithoutATypeAndPasswordsInXMLAreHidden() async throws {
    let run = try InspectorRun()
    var request = HTTPRequest(.post, "http://a.example/")
    request.body = .data(Data("<login><user>anna</user><password>secret</password></login>".utf8))
    await run.call(request, ScriptedTransport(.data(Data("user=anna&password=secret".utf8))))
    let id = try #require(run.ids.first)
    #expect(
      try await run.text("/calls/\(id)/1/request") == "<login><user>anna</user><password>***</password></login>")
    #expect(try await run.text("/calls/\(id)/1/response") == "user=anna&password=***")
    #expect(try await !run.text("/archive").contains(Data("user=anna&password=secret".utf8).base64EncodedString()))
  }

  @Test func allTextsOfASearchHaveToBeInACall() async throws {
    let run = try InspectorRun()
    var request = HTTPRequest(.post, "http://a.example/", fields: [.contentType: "application/octet-stream"])
    request.body = .data(Data("foo".utf8))
    await run.call(request, ScriptedTransport(.text("Bar")))
    await run.call(HTTPRequest(.get, "http://a.example/"), ScriptedTransport(.text("foo")))
    #expect(try await run.text("/search?text=foo&text=bar") == "[\(run.ids[0])]")
    #expect(try await run.text("/search?text=foo&text=baz") == "[]")
    #expect(try await run.text("/search?text=foo").contains("\(run.ids[1])"))
  }

  /// An interceptor that takes its time.
  private struct Pause: Interceptor {
    let gate: Gate
    let entered: Gate

    func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
      entered.open()
      try await gate.wait()
      return .send(request)
    }
  }

  @Test func theTimeBeforeTheFirstAttemptIsExplained() async throws {
    let run = try InspectorRun()
    let (gate, entered) = (Gate(), Gate())
    var configuration = SessionConfiguration()
    configuration.listeners = [run.inspector]
    configuration.credentials = [
      TokenSource(for: .any) { _ in
        entered.open()
        try await gate.wait()
        return AccessToken("token")
      }
    ]
    let session = HTTPSession(transport: MockTransport { _ in .text("a") }, configuration: configuration)
    let first = Task { try await session.data(for: HTTPRequest(.get, "http://a.example/1")) }
    try await entered.wait()
    let second = Task { try await session.data(for: HTTPRequest(.get, "http://a.example/2")) }
    let log = run.inspector.log
    func notes(_ index: Int) -> [String] {
      CallDetails(log.state.calls[index], log).lines.map(\.text)
    }
    try await until {
      log.state.calls.count == 2 && notes(1).contains { $0.contains("waits for the access token, which") }
    }
    #expect(notes(0).contains("waits for the access token"))
    let start = log.elapsed
    try await until { log.elapsed - start > .milliseconds(2) }
    let running = CallDetails(log.state.calls[1], log).summary.bars
    #expect(running.map(\.style) == ["delay"])
    #expect(running.first?.title.contains("waits for the access token, which another call has requested") == true)
    gate.open()
    _ = try await (first.value, second.value)
    let bars = CallDetails(log.state.calls[0], log).summary.bars
    #expect(bars.first?.style == "delay")
  }

  @Test func theTimeInAnInterceptorIsExplained() async throws {
    let run = try InspectorRun()
    let (gate, entered) = (Gate(), Gate())
    var request = HTTPRequest(.get, "http://a.example/")
    request.options.interceptors = [Pause(gate: gate, entered: entered)]
    let sent = request
    let call = Task { await run.call(sent, MockTransport { _ in .text("a") }) }
    try await entered.wait()
    let log = run.inspector.log
    let start = log.elapsed
    try await until { log.elapsed - start > .milliseconds(2) }
    gate.open()
    await call.value
    let details = CallDetails(try #require(log.state.calls.first), log)
    #expect(details.lines.contains { $0.text.contains("in the session's interceptors") })
    #expect(
      details.summary.bars.first?.title.contains("before the first attempt: in the session's interceptors") == true)
  }

  @Test func theTimeForAPlaceIsBeforeTheRequestAndNotAfterIt() async throws {
    let run = try InspectorRun()
    let (gate, entered) = (Gate(), Gate())
    var configuration = SessionConfiguration(cookies: nil, cache: nil)
    configuration.listeners = [run.inspector]
    configuration.limits.concurrency = ConcurrencyLimit(1)
    let transport = MockTransport { request in
      if request.url.path == "/1" {
        entered.open()
        try await gate.wait()
      }
      return .text("a")
    }
    let session = HTTPSession(transport: transport, configuration: configuration)
    let first = Task { try await session.data(for: HTTPRequest(.get, "http://a.example/1")) }
    try await entered.wait()
    let second = Task { try await session.data(for: HTTPRequest(.get, "http://a.example/2")) }
    let log = run.inspector.log
    try await until {
      log.state.calls.count == 2
        && CallDetails(log.state.calls[1], log).lines.contains { $0.text.contains("waits for one of the requests") }
    }
    let start = log.elapsed
    try await until { log.elapsed - start > .milliseconds(2) }
    gate.open()
    _ = try await (first.value, second.value)
    let details = CallDetails(log.state.calls[1], log)
    let bar = try #require(details.summary.bars.first)
    #expect(bar.style == "delay" && bar.length >= 2)
    #expect(details.attempts[0].entry.timings.blocked >= 2)
    #expect(details.summary.bars.dropFirst().allSatisfy { $0.start > bar.start + bar.length - 0.001 })
  }
}
