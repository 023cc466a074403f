@testable import MartletCommandLine
@_spi(Transports) import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

@Suite("serve and record", .timeLimit(.minutes(5)))
struct ServerTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private func server(_ rules: [FaultRule] = []) throws -> LoopbackServer {
    try run.folder.write(Data("0123456789".utf8), to: "pub/a.txt")
    try run.folder.write(Data("{}".utf8), to: "pub/sub/b c.json")
    for name in ["outside.txt", "pub/.env", "pub/.git/config", "pub/sub/.hidden"] {
      try run.folder.write(Data("secret".utf8), to: name)
    }
    let responder = FolderResponder(run.folder.file("pub"), rules)
    return try LoopbackServer { responder.reply(to: $0) }
  }

  @Test func aFolderIsServedWithTypesRangesAndLists() async throws {
    let server = try server()
    let list = try await run("get", ":\(server.port)/", "-p", "hb")
    #expect(list.text.contains("Content-Type: text/html; charset=utf-8"))
    #expect(list.text.contains(#"<a href="./a.txt">a.txt</a> – 10 B"#))
    #expect(list.text.contains(#"<a href="./sub/">sub/</a>"#))
    #expect(try await run("get", ":\(server.port)/sub").text.contains("./b%20c.json"))
    let part = try await run("get", ":\(server.port)/a.txt", "Range:bytes=2-3", "-p", "hb")
    #expect(part.text.contains("206 Partial Content") && part.text.hasSuffix("\n23"))
  }

  @Test(arguments: [
    "/../outside.txt", "/%2e%2e/outside.txt", "/sub/..%2f..%2foutside.txt", "//outside.txt", "/..", "/%00",
    "/.env", "/%2eenv", "/%2Eenv", "/.git/config", "/.git/", "/.git", "/sub/.hidden",
  ])
  func pathsDoNotLeaveTheFolderAndNamesWithADotAreNotServed(path: String) async throws {
    let server = try server()
    let session = HTTPSession(transport: SocketTransport(ConnectionConfiguration()))
    var request = HTTPRequest(.get, server.url(path))
    request.options.keepsDotSegments = true
    let (data, response) = try await session.data(for: request)
    #expect(response.status == .notFound)
    #expect(!String(decoding: data, as: UTF8.self).contains("secret"))
  }

  @Test func aPathIsResolvedUnlessItIsToGoOutAsItIs() async throws {
    let server = try LoopbackServer { .text($0.target) }
    #expect(try await run("get", ":\(server.port)/a/../b").text == "/b")
    #expect(try await run("get", ":\(server.port)/a/../b", "--path-as-is").text == "/a/../b")
    let commands = [
      try await run("get", ":\(server.port)/a/../b", "--curl").text,
      try await run("get", ":\(server.port)/a/../b", "--curl", "--path-as-is").text,
    ]
    #expect(commands.map { $0.contains("--path-as-is") } == [false, true])
  }

  @Test func faultsComeFromRulesAndFromTheQuery() async throws {
    let server = try server([
      FaultRule(.status, "/sub/*=503"), FaultRule(.truncate, "/a.txt=4"),
    ])
    #expect(try await run("get", ":\(server.port)/sub/x", "--check-status").code == .serverError)
    let cut = try await run("get", ":\(server.port)/a.txt")
    #expect(cut.code == .connection && cut.text == "0123")
    #expect(try await run("get", ":\(server.port)/?status=404", "--check-status").code == .clientError)
    #expect(try await run("get", ":\(server.port)/?reset=0").code == .connection)
    #expect(try await run("get", ":\(server.port)/?stall=1", "--timeout", "0.05").code == .timeout)
  }

  @Test func whatARequestAsksForComesBeforeTheRules() async throws {
    let server = try server([FaultRule(.status, "503")])
    #expect(try await run("get", ":\(server.port)/a.txt", "--check-status").code == .serverError)
    #expect(try await run("get", ":\(server.port)/a.txt?status=404", "--check-status").code == .clientError)
  }

  @Test(arguments: [
    ("/a/*", "/a/b", true), ("/a/*", "/a", false), ("*", "/x", true), ("/a", "/a", true), ("/a", "/ab", false),
    ("*.json", "/x/y.json", true), ("/a*c*e", "/abcde", true), ("/a*c*e", "/abde", false), ("/a*a", "/a", false),
  ])
  func aStarStandsForAnyCharacters(pattern: String, path: String, matches: Bool) {
    #expect(FaultRule.matches(path[...], pattern[...]) == matches)
  }

  @Test(arguments: [
    (OptionName.delay, "soon", "--delay 'soon': 'soon' is not a number of seconds, up to a day"),
    (.status, "/a=99", "--status '/a=99': '99' is not a status from 200 to 599"),
    (.truncate, "a=1", "--truncate 'a=1': a pattern begins with a slash, such as /api/*"),
  ])
  func rulesThatAreNoneAreRefused(option: OptionName, text: String, message: String) {
    #expect(throws: UsageError(message)) { try FaultRule(option, text) }
  }

  @Test func theProxyPassesOnAndRecords() async throws {
    let origin = try LoopbackServer { request in
      request.path == "/go"
        ? .redirect(to: "http://127.0.0.1:\(request.fields[.host]?.split(separator: ":").last ?? "")/end")
          .with(.setCookie, "a=1; Path=/; Secure; Domain=127.0.0.1")
        : .json(#"{"got":"\#(request.text)"}"#)
    }
    let recorder = HARRecorder()
    let forwarder = Forwarder(to: origin.url, over: SocketTransport(), listeners: [recorder])
    let proxy = try LoopbackServer { await forwarder.reply(to: $0) }

    let posted = try await run("post", ":\(proxy.port)/p?q=1", "--raw", "text", "X-Kept:1")
    let redirect = try await run("get", ":\(proxy.port)/go", "--no-redirects", "-p", "h")

    #expect(posted.text == #"{"got":"text"}"#)
    let received = try await origin.request(1)
    #expect(received.target == "/p?q=1" && received.fields["X-Kept"] == "1")
    #expect(received.fields[.host] == "127.0.0.1:\(origin.port)")
    #expect(redirect.text.contains("Location: http://localhost:\(proxy.port)/end\n"))
    #expect(redirect.text.contains("Set-Cookie: a=1; Path=/\n"))
    let urls = recorder.har.log.entries.map(\.request.url)
    #expect(urls == ["http://127.0.0.1:\(origin.port)/p?q=1", "http://127.0.0.1:\(origin.port)/go"])
  }

  @Test func whatIsUnderWayWhenARecordingEndsIsWrittenAsFarAsItGot() async throws {
    let gate = Gate()
    let origin = try LoopbackServer { request in
      switch request.path {
      case "/silent": .text("").held(by: gate)
      case "/stalled": .text("0123456789").stalled(after: 4, until: gate)
      default: .text("whole")
      }
    }
    defer { gate.open() }
    let clock = ManualClock()
    let recording = try await ServerRun(
      run, "record", "--origin", origin.url.absoluteString, "--har", "api.har", clock: clock)
    let session = HTTPSession(transport: SocketTransport(ConnectionConfiguration()))
    func request(_ path: String) throws -> HTTPRequest {
      HTTPRequest(.get, try #require(URL(string: recording.address + path)))
    }
    #expect(try await run("get", "\(recording.address)/whole").text == "whole")
    let (body, _) = try await session.bytes(for: try request("/stalled"))
    let bytes = body.source
    #expect(try await bytes.next() == Data("0123".utf8))
    let silent = Task { [request = try request("/silent")] in try await session.data(for: request) }
    _ = try await origin.request(3)

    recording.interrupt()
    // the archive is due to be written in a second, and the program waits a second for work in progress
    try await clock.sleepers(2)
    clock.advance(by: .seconds(1))
    #expect(await recording.result == .success)

    let entries = try HAR(json: Data(contentsOf: run.folder.file("api.har"))).log.entries
    #expect(entries.map(\.response.status) == [200, 200, 0])
    #expect(entries.map(\.response.content.text) == ["whole", "0123", nil])
    let reason = "the recording was ended before the response was complete"
    #expect(entries.map(\.response.error) == [nil, "other: \(reason)", "other: \(reason)"])
    #expect(recording.errors.text.contains("martlet: recorded as far as they got: 2 unfinished\n"))
    let part = try await run("get", origin.url("/stalled").absoluteString, "--replay", "api.har")
    #expect(part.text == "0123" && part.code == .failure && part.errors.text.contains(reason))
    let none = try await run("get", origin.url("/silent").absoluteString, "--replay", "api.har")
    #expect(none.code == .notStored && none.errors.text.contains(reason))
    body.cancel()
    silent.cancel()
  }

  @Test func anOriginThatIsNotThereIsABadGateway() async throws {
    let origin = try LoopbackServer { _ in .text("") }
    origin.stop()
    let forwarder = Forwarder(to: origin.url, over: SocketTransport(), listeners: [])
    let proxy = try LoopbackServer { await forwarder.reply(to: $0) }
    #expect(try await run("get", ":\(proxy.port)/", "--check-status").code == .serverError)
  }
}
