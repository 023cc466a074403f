@testable import MartletCommandLine
import MartletEngine
@_spi(Toolkit) import MartletObservation
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import Testing

@Suite("What --verbose, --events and --timeline tell", .timeLimit(.minutes(5)))
struct StoryTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  /// A service with a redirect, a cookie, a CSRF token and a response that may be stored.
  private func service() throws -> LoopbackServer {
    try LoopbackServer { request in
      switch request.path {
      case "/old": .redirect(to: "/orders").with(.setCookie, "sid=s3cret").with(.setCookie, "x=1; Domain=example.com")
      case "/token/": .status(.ok).with("X-CSRF-Token", "t0ken")
      case "/token/orders" where request.fields["X-CSRF-Token"] != "t0ken":
        .status(.forbidden).with("X-CSRF-Token", "Required")
      default: .json("[1]").with(.cacheControl, "max-age=60").with(.eTag, "\"1\"")
      }
    }
  }

  /// Without the parts that differ between runs: the times and the port.
  private func steady(_ text: String, _ server: LoopbackServer) -> String {
    text.split(separator: "\n").map { line in
      String(line.dropFirst(10)).replacing("\(server.port)", with: "PORT")
    }.filter { !$0.hasPrefix("* times:") }.joined(separator: "\n")
  }

  @Test func hintsMisdirectionsAndAnnouncementsAreTold() async throws {
    let server = try LoopbackServer { request in
      request.connection == 1
        ? .status(.misdirectedRequest)
        : .text("ok").with("Deprecation", "@1688169599").preceded(by: 103, fields: ["Link": "</a.css>; rel=preload"])
    }
    let result = try await run("get", ":\(server.port)/v1", "--verbose")
    #expect(result.text == "ok")
    let story = steady(result.errors.text, server)
    #expect(story.contains("* again: 421: the connection does not serve this origin, sent again over a new one"))
    #expect(story.contains("< HTTP/1.1 103 Early Hints\n< Link: </a.css>; rel=preload"))
    #expect(story.contains("* the server announces: deprecated as of 2023-06-30T23:59:59Z"))
  }

  @Test func redirectsAndCookiesAreToldWithoutSecrets() async throws {
    let server = try service()
    let result = try await run("get", ":\(server.port)/old", "--verbose")
    #expect(result.text == "[1]")
    #expect(
      steady(result.errors.text, server) == """
        * GET http://localhost:PORT/old
        > GET /old HTTP/1.1
        > Host: localhost:PORT
        > Accept: */*
        > User-Agent: martlet/\(Catalogue.version)
        > Accept-Encoding: gzip, deflate, br, zstd
        * the cookie "x" was rejected: the host does not belong to its Domain
        < HTTP/1.1 302 Found
        < Location: /orders
        < Set-Cookie: sid=***
        < Set-Cookie: x=***; Domain=example.com
        < Content-Length: 0
        * the response sets cookies sid, x
        * again: 302 redirect to http://localhost:PORT/orders
        * attempt 2
        * the cookie jar has 1 cookie for it
        > GET /orders HTTP/1.1
        > Host: localhost:PORT
        > Accept: */*
        > User-Agent: martlet/\(Catalogue.version)
        > Cookie: sid=***
        > Accept-Encoding: gzip, deflate, br, zstd
        < HTTP/1.1 200 OK
        < Content-Type: application/json
        < Cache-Control: max-age=60
        < ETag: "1"
        < Content-Length: 3
        * complete: 200 OK, 2 attempts, a body of 3 B
        """)
    let open = try await run("get", ":\(server.port)/old", "--verbose", "--show-secrets")
    #expect(open.errors.text.contains("Cookie: sid=s3cret"))
  }

  @Test func theTimesOfEachAttemptAreTold() async throws {
    let server = try service()
    let errors = try await run("get", ":\(server.port)/old", "-v").errors.text
    #expect(errors.split(separator: "* times: ").count == 3)
    #expect(errors.contains("reused connection to"))
    #expect(errors.contains("HTTP/1.1, 127.0.0.1 port \(server.port)"))
  }

  @Test func theFetchOfATokenIsACallOfItsOwn() async throws {
    let server = try service()
    let result = try await run("post", ":\(server.port)/token/orders", "a=1", "--csrf", "/token/", "-v")
    #expect(result.code == .success)
    let lines = steady(result.errors.text, server).split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("[") && $0.hasSuffix("HEAD http://localhost:PORT/token/") })
    #expect(lines.contains("> X-CSRF-Token: ***"))
    #expect(!lines.contains { $0.contains("failed") || $0.contains("not read") })
    #expect(!result.errors.text.contains("t0ken"))
  }

  @Test func theDecisionsOfTheCacheAreTold() async throws {
    let server = try service()
    let line = [":\(server.port)/orders", "--cache", "kept", "-v"]
    _ = try await run.run(line)
    let second = try await run.run(line)
    #expect(second.errors.text.contains("* the response comes from the cache, and is fresh"))
    #expect(second.errors.text.contains("* answered without the network"))
    let offline = try await run.run(line + ["--only-cached"])
    #expect(offline.code == .success && offline.text == "[1]")
    let other = try await run.run([":\(server.port)/other", "--cache", "kept", "--only-cached"])
    #expect(other.code == .notStored)
    #expect(server.requests.count == 1)
  }

  @Test func eachEventIsALineOfJSON() async throws {
    let server = try service()
    let errors = try await run("get", ":\(server.port)/old", "--events").errors.text
    struct Line: Decodable {
      let ms: Double
      let call: Int
      let event: String
    }
    let lines = try errors.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    #expect(
      lines.map(\.event).filter { $0 != "progress" } == [
        "started", "attempt", "sending", "written", "cookieRefused", "cookiesStored", "response", "metrics", "resend",
        "attempt", "sending", "written", "response", "metrics", "finished",
      ])
    #expect(lines.map(\.ms) == lines.map(\.ms).sorted())
    #expect(Set(lines.map(\.call)).count == 1)
    #expect(!errors.contains("s3cret"))
  }

  @Test(arguments: [["--print", "h"], ["--verbose"], ["--events"], ["--quiet", "--timeline", "a.html"]])
  func textOfAServerControlsNoTerminalAndChangesNoOrder(options: [String]) async throws {
    let server = try LoopbackServer { _ in
      .raw("HTTP/1.1 200 OK\r\nX-Text: a\u{202E}b\u{2067}c\u{9B}31md\r\nContent-Length: 0\r\n\r\n")
    }
    let result = try await run.run(["get", ":\(server.port)/"] + options)
    let page = options.contains("a.html") ? try run.text(of: "a.html") : ""
    let text = result.text + result.errors.text + page
    #expect(text.contains("X-Text"))
    #expect(!text.unicodeScalars.contains { "\u{202E}\u{2067}\u{9B}".unicodeScalars.contains($0) })
  }

  @Test func theTimelineShowsCallsAttemptsAndPhases() async throws {
    let server = try service()
    let result = try await run("get", ":\(server.port)/old", "X-Note:<b>", "--timeline", "a.html")
    #expect(result.code == .success)
    let page = try run.text(of: "a.html")
    #expect(page.contains("1 call · 2 attempts"))
    #expect(page.contains("<b class=\"notice\">302</b> GET http://localhost:\(server.port)/old"))
    #expect(page.contains("<b class=\"good\">200</b> GET http://localhost:\(server.port)/orders"))
    #expect(page.contains("<i class=\"wait\" style="))
    #expect(page.contains("&lt;b&gt;") && !page.contains("<dd><b>"))
    #expect(!page.contains("s3cret") && !page.contains("<script"))
    #expect(try run.permissions(of: run.folder.file("a.html")) == 0o600)
  }

  @Test func theTimelineOfAFailedCallIsWrittenToo() async throws {
    let server = try LoopbackServer { _ in .reset }
    let result = try await run("get", ":\(server.port)/", "--timeline", "a.html", "--har", "a.har")
    #expect(result.code == .connection)
    #expect(try run.text(of: "a.html").contains("class=\"error\""))
    #expect(try run.text(of: "a.har").contains("\"entries\""))
  }

  @Test func phasesAreTheDifferencesOfWhatWasMeasured() {
    var metrics = TransferMetrics()
    metrics.nameLookup = .milliseconds(2)
    metrics.connect = .milliseconds(5)
    metrics.requestStart = .milliseconds(5)
    metrics.firstByte = .milliseconds(15)
    metrics.total = .milliseconds(16)
    let phases = Phases(metrics).map { "\($0.name) \(Quantity.text($0.start)) \(Quantity.text($0.length))" }
    #expect(phases == ["DNS 0 ms 2 ms", "connect 2 ms 3 ms", "wait 5 ms 10 ms", "receive 15 ms 1 ms"])
  }

  @Test(arguments: [
    (Duration.microseconds(300), "0.3 ms"), (.milliseconds(1500), "1.5 s"),
    (.seconds(Int64.max), "100000000000000000 s"), (.seconds(Int64.min), "-100000000000000000 ms"),
  ])
  func everyDurationHasAText(duration: Duration, text: String) {
    #expect(Quantity.text(duration) == text)
  }

  @Test func aRecordedCallIsReplayedWithoutTheServer() async throws {
    let server = try service()
    let target = ":\(server.port)/orders"
    #expect(try await run("get", target, "--har", "a.har").code == .success)
    server.stop()
    #expect(try await run("get", target, "--replay", "a.har").text == "[1]")
    let other = try await run("get", ":\(server.port)/other", "--replay", "a.har")
    #expect(other.code == .notStored)
    #expect(other.errors.text.contains("has no response for GET"))
  }

  @Test func anArchiveHasLargeBodiesToo() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 5_000_000)) }
    let target = ":\(server.port)/large"
    #expect(try await run("get", target, "--har", "a.har", "--quiet").code == .success)
    #expect(try await run("get", target, "--replay", "a.har").output.data == Data(count: 5_000_000))
  }
}
