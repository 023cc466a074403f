@testable import MartletCommandLine
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

@Suite("inspect, and --inspect of serve and record", .timeLimit(.minutes(5)))
struct InspectTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  /// Returns what an inspector answers to its page.
  private func answer(_ url: String, _ target: String) async throws -> String {
    let parts = url.split(separator: "#")
    try #require(parts.count == 2)
    var request = HTTPRequest(.get, "\(parts[0].dropLast())\(target)")
    request.fields["Inspector-Key"] = String(parts[1])
    return String(decoding: try await HTTPSession(transport: SocketTransport()).data(for: request).0, as: UTF8.self)
  }

  /// The URL that `--inspect` reported.
  private func inspector(of server: ServerRun) throws -> String {
    let line = try #require(server.errors.text.split(separator: "\n").first { $0.hasPrefix("Inspector: ") })
    return String(line.dropFirst(11))
  }

  @Test func anArchiveIsShownWithItsCallsAndWithoutSecrets() async throws {
    let archive = """
      {"log": {"entries": [
        {"startedDateTime": "2026-01-01T00:00:00.000Z", "time": 5, "comment": "call 7, attempt 1: 302 redirect",
         "request": {"method": "GET", "url": "https://a.example/old?token=s1", "headers": []},
         "response": {"status": 302, "headers": [{"name": "Set-Cookie", "value": "id=s2"}],
           "content": {"size": 9223372036854775807}}},
        {"startedDateTime": "2026-01-01T00:00:01.000Z", "time": 5, "comment": "call 7, attempt 2",
         "request": {"method": "GET", "url": "https://a.example/new", "headers": []},
         "response": {"status": 200, "content": {"size": 9223372036854775807, "mimeType": "application/json",
           "text": "{\\"password\\": \\"s3\\"}"}}},
        {"startedDateTime": "2026-01-01T00:00:02.000Z", "time": 5,
         "_securityDetails": {"protocol": "TLS 1.3", "subjectName": "a.example", "validTo": 1900000000},
         "_resourceType": "websocket", "_webSocketMessages": [{"type": "send", "time": 1, "opcode": 1, "data": "hi"}],
         "request": {"method": "POST", "url": "https://a.example/else", "postData": {"text": "color=blue",
           "mimeType": "application/x-www-form-urlencoded", "params": [{"name": "color", "value": "blue"}]}},
         "response": {"status": 500}}
      ]}}
      """
    try run.folder.write(Data(archive.utf8), to: "api.har")
    let server = try await ServerRun(run, "inspect", "api.har")
    let url = String(server.line.prefix { $0 != " " })
    let first = try await answer(url, "/calls/1")
    #expect(first.contains("302 redirect") && first.contains(#""attempts":2"#))
    #expect(first.contains(#""received":2000000000000000"#))
    #expect(try await answer(url, "/calls/1/2/response").contains("***"))
    for target in ["/calls/1", "/calls/1/2/response", "/archive"] {
      let text = try await answer(url, target)
      #expect(!["s1", "s2", "s3"].contains { text.contains("=\($0)") || text.contains("\"\($0)\"") }, "\(target)")
    }
    let other = try await answer(url, "/calls/2")
    #expect(other.contains(#""status":500"#) && other.contains(#""data":"hi""#))
    #expect(other.contains(#""subjectName":"a.example""#))
    #expect(other.contains(#""postData""#) && !other.contains(#""params""#))
    server.interrupt()
    _ = await server.result
  }

  @Test(arguments: [["inspect"], ["inspect", "missing.har"], ["inspect", "text.har"]])
  func whatIsNoArchiveIsRefused(_ arguments: [String]) async throws {
    try run.folder.write(Data("hello".utf8), to: "text.har")
    #expect(try await run.run(arguments).code == .failure)
  }

  @Test func recordShowsTheCallsToItsOrigin() async throws {
    let origin = try LoopbackServer { _ in .json(#"{"a":1}"#) }
    let server = try await ServerRun(
      run, "record", "--origin", "http://127.0.0.1:\(origin.port)", "--har", "api.har", "--inspect")
    _ = try await run("get", "\(server.address)/orders")
    let url = try inspector(of: server)
    #expect(try await answer(url, "/archive").contains("127.0.0.1:\(origin.port)/orders"))
    server.interrupt()
    _ = await server.result
  }

  @Test func serveShowsTheRequestsThatItAnswers() async throws {
    try run.folder.write(Data("0123456789".utf8), to: "pub/a.txt")
    let server = try await ServerRun(run, "serve", "pub", "--inspect")
    _ = try await run("get", "\(server.address)/a.txt")
    _ = try await run("get", "\(server.address)/missing")
    let archive = try await answer(try inspector(of: server), "/archive")
    #expect(archive.contains("/a.txt") && archive.contains(#""status" : 404"#))
    #expect(archive.contains("0123456789"))
    _ = try await run("post", "\(server.address)/a.txt", "--raw", "a note")
    #expect(try await answer(try inspector(of: server), "/archive").contains("a note"))
    server.interrupt()
    _ = await server.result
  }
}
