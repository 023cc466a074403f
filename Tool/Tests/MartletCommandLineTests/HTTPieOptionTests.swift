@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("Options that HTTPie has too", .timeLimit(.minutes(5)))
struct HTTPieOptionTests {
  private let run: TestRun

  init() throws { run = try TestRun() }

  private func redirecting(times: Int = 2) throws -> LoopbackServer {
    try LoopbackServer { request in
      let number = Int(request.path.dropFirst()) ?? 0
      if number < times { return .redirect(to: "/\(number + 1)").with("X-Number", "\(number)") }
      return .json(#"{"b":{"d":1,"c":[{"z":1,"y":2}]},"a":2.0}"#).with("B-Field", "1").with("A-Field", "2")
    }
  }

  @Test(arguments: [["-F"], ["--follow"], ["-S"], ["--stream"], ["--unsorted"], ["--ignore-netrc"]])
  func whatHappensAnywayMayBeWritten(options: [String]) async throws {
    let server = try redirecting()
    let result = try await run.run([":\(server.port)/0"] + options)
    #expect(result.code == .success)
    #expect(result.text.hasPrefix(#"{"b""#))
    #expect(result.errors.text.isEmpty)
  }

  @Test func redirectsAreLimited() async throws {
    let server = try redirecting(times: 25)
    #expect(try await run("get", ":\(server.port)/0").code == .tooManyRedirects)
    let refused = try await run("get", ":\(server.port)/23", "--max-redirects", "1")
    #expect(refused.code == .tooManyRedirects)
    #expect(refused.errors.text.contains("--no-redirects shows the redirect itself"))
    #expect(try await run("get", ":\(server.port)/0", "--max-redirects", "25").code == .success)
  }

  @Test func allShowsTheHeadsOfRedirects() async throws {
    let server = try redirecting()
    let text = try await run("get", ":\(server.port)/0", "--all", "-p", "Hh").text
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).filter {
      $0.hasPrefix("GET") || $0.hasPrefix("HTTP") || $0.isEmpty
    }
    #expect(
      lines == [
        "GET /0 HTTP/1.1", "", "HTTP/1.1 302 Found", "", "GET /1 HTTP/1.1", "", "HTTP/1.1 302 Found", "",
        "GET /2 HTTP/1.1", "", "HTTP/1.1 200 OK", "",
      ])
    #expect(try await run("get", ":\(server.port)/0", "-p", "h").text.contains("302") == false)
  }

  @Test func theHeadHasALetterAndHelpNeedsNoURL() async throws {
    let server = try redirecting(times: 0)
    let head = try await run("-h", ":\(server.port)/0").text
    #expect(head.hasPrefix("HTTP/1.1 200 OK\n") && !head.contains("{"))
    #expect(try await run("get", "-h").text.hasPrefix("usage: martlet get"))
    #expect(try await run("ws", "-h").text.hasPrefix("usage: martlet ws"))
  }

  @Test func metadataAreShownAloneOrAfterTheRest() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let alone = try await run("get", ":\(server.port)/", "-m").text
    let pattern = try Regex(#"Elapsed time: \d+\.\d{6}s\nRemote address: (127\.0\.0\.1|\[::1\]):\#(server.port)\n"#)
    #expect(alone.wholeMatch(of: pattern) != nil, "\(alone)")
    let last = try await run("get", ":\(server.port)/", "-p", "bm").text
    #expect(last.hasPrefix("hi\n\nElapsed time: "))
    #expect(try await run("get", ":\(server.port)/", "-p", "hm").text.contains("\n\nElapsed time: "))
  }

  @Test func sortedSortsFieldsAndMembersAndKeepsTheirNotation() async throws {
    let server = try redirecting(times: 0)
    let text = try await run("get", ":\(server.port)/", "--sorted", "--pretty=format", "-p", "hb").text
    #expect(text.hasPrefix("HTTP/1.1 200 OK\nA-Field: 2\nB-Field: 1\nContent-Length: "))
    #expect(
      text.hasSuffix(
        """
        {
          "a": 2.0,
          "b": {
            "c": [
              {
                "y": 2,
                "z": 1
              }
            ],
            "d": 1
          }
        }

        """))
    #expect(try await run("get", ":\(server.port)/", "--sorted").text.hasPrefix(#"{"b""#))
  }

  @Test(arguments: [
    ("[]", "[]"), ("not json", "not json"), (#"{"b":1,"a":1,"b":2}"#, #"{"a":1,"b":1,"b":2}"#), ("1.50", "1.50"),
  ])
  func whatCannotBeSortedStays(text: String, sorted: String) {
    #expect(SortedJSON.text(text) == sorted)
  }

  @Test func aStyleHasColorsOfItsOwn() async throws {
    let server = try LoopbackServer { _ in .json(#"{"a":"b"}"#) }
    let colored = try await run("get", ":\(server.port)/", "--pretty=colors", "-s", "monokai").text
    #expect(
      colored == "{\u{1B}[38;5;197m\"a\"\u{1B}[0m:\u{1B}[38;5;186m\"b\"\u{1B}[0m}")
    let unknown = try await run("get", ":\(server.port)/", "--style=monokay")
    #expect(unknown.errors.text.contains("is none of auto, fruity, monokai, solarized: did you mean 'monokai'?"))
  }

  @Test func offlineShowsTheRequestAndSendsNothing() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let line = ["post", ":\(server.port)/p", "a=1", "q==2", "--auth", "u:p", "--offline"]
    let all = try await run.run(line)
    #expect(all.code == .success)
    #expect(all.text.hasPrefix("POST /p?q=2 HTTP/1.1\nHost: localhost:\(server.port)\n"))
    #expect(all.text.contains("Authorization: Basic dTpw\n") && all.text.contains("Content-Length: 9\n"))
    #expect(all.text.contains("Accept-Encoding: gzip"))
    #expect(all.text.hasSuffix("\n\n{\"a\":\"1\"}"))
    #expect(try await run.run(line + ["--print", "B"]).text == #"{"a":"1"}"#)
    #expect(try await run.run(line + ["--print", "H"]).text.hasSuffix(": 9\n"))
    #expect(try await run.run(line + ["--quiet"]).text.isEmpty)
    #expect(server.connectionCount == 0)
  }

  @Test func offlineShowsFilesAndKeepsNothing() async throws {
    try run.folder.write(Data("file text".utf8), to: "note.txt")
    let form = try await run(
      "post", ":1/", "--multipart", "--boundary", "xoxo", "f@note.txt", "--offline", "--session", "./s.json")
    #expect(form.text.contains("Content-Type: multipart/form-data; boundary=xoxo\n"))
    #expect(form.text.contains("--xoxo\r\nContent-Disposition: form-data; name=\"f\"; filename=\"note.txt\"\r\n"))
    #expect(form.text.hasSuffix("\r\n--xoxo--\r\n"))
    #expect(!FileManager.default.fileExists(atPath: run.folder.file("s.json").path))
  }

  @Test func aBodyIsChunkedOrCompressed() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let target = ":\(server.port)/"
    let long = String(repeating: "a", count: 2000)
    _ = try await run("post", target, "a=1", "--chunked")
    _ = try await run("post", target, "--raw", long, "-x")
    _ = try await run("post", target, "--raw", "a", "--compress")
    _ = try await run("post", target, "@-", "--chunked", input: "typed")
    _ = try await run("get", target, "--chunked", "-x")
    let requests = [1, 2, 3, 4, 5]
    var fields: [HTTPFields] = []
    for number in requests { fields.append(try await server.request(number).fields) }
    #expect(fields[0][.transferEncoding] == "chunked" && fields[0][.contentLength] == nil)
    #expect(fields[0][.contentType] == "application/json")
    #expect(try await server.request(1).text == #"{"a":"1"}"#)
    #expect(fields[1][.contentEncoding] == "deflate")
    #expect(try await server.request(2).body.count < 100)
    #expect(fields[2][.contentEncoding] == nil)
    #expect(try await server.request(3).text == "a")
    #expect(try await server.request(4).text == "typed")
    #expect(fields[4][.transferEncoding] == nil && fields[4][.contentEncoding] == nil)
  }

  @Test func aSessionCanBeAFileOfOneOriginAndMayBeOnlyRead() async throws {
    let server = try LoopbackServer { _ in .text("hi").with(.setCookie, "sid=1") }
    let other = try LoopbackServer { _ in .text("hi") }
    let target = ":\(server.port)/"
    _ = try await run("get", target, "--session-read-only", "./s.json", "X-Kept:1")
    #expect(!FileManager.default.fileExists(atPath: run.folder.file("s.json").path))
    _ = try await run("get", target, "--session=./s.json", "X-Kept:1", "--auth", "u:p")
    #expect(try run.permissions(of: run.folder.file("s.json")) == 0o600)
    let kept = try run.text(of: "s.json")
    _ = try await run("get", target, "--session-read-only=./s.json", "X-Other:1")
    let fields = try await server.request(3).fields
    #expect(fields["X-Kept"] == "1" && fields[.cookie] == "sid=1" && fields[.authorization] == "Basic dTpw")
    #expect(try run.text(of: "s.json") == kept)
    let refused = try await run("get", ":\(other.port)/", "--session=./s.json")
    #expect(refused.code == .failure)
    #expect(refused.errors.text.contains("is a session of http://localhost:\(server.port): name another one for"))
    #expect(other.connectionCount == 0)
  }

  @Test func aFileThatIsNoSessionIsNotReplaced() async throws {
    let server = try LoopbackServer { _ in .text("hi") }
    let file = try run.folder.write(Data(#"{"auth":{}}"#.utf8), to: "s.json")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    let result = try await run("get", ":\(server.port)/", "--session=./s.json")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("is not a martlet session: name another one, or remove it"))
    #expect(try run.text(of: "s.json") == #"{"auth":{}}"#)
  }

  @Test func theDefaultSchemeCompletesAURL() throws {
    #expect(try TargetURL.parse("example.com/a", defaultScheme: "http").absoluteString == "http://example.com/a")
    #expect(try TargetURL.parse("localhost", defaultScheme: "https").absoluteString == "https://localhost")
    #expect(try TargetURL.parse(":8443/a", defaultScheme: "https").absoluteString == "https://localhost:8443/a")
    #expect(try TargetURL.parse("http://h", defaultScheme: "https").absoluteString == "http://h")
  }

  @Test(arguments: [
    (["http:http://127.0.0.1:PORT"], true), (["all:http://127.0.0.1:PORT"], true),
    (["https:http://127.0.0.1:PORT"], false), (["http:none", "https:http://127.0.0.1:PORT"], false),
  ])
  func aProxyMayBeForOneScheme(proxies: [String], isUsed: Bool) async throws {
    let server = try LoopbackServer { _ in .text("direct") }
    let proxy = try LoopbackServer { _ in .text("proxied") }
    let options = proxies.map { "--proxy=" + $0.replacing("PORT", with: "\(proxy.port)") }
    let result = try await run.run(["get", "http://127.0.0.1:\(server.port)/"] + options)
    #expect(result.text == (isUsed ? "proxied" : "direct"))
  }
}
