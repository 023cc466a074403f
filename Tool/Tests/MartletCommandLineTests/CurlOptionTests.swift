@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite("Options that curl has too", .timeLimit(.minutes(5)))
struct CurlOptionTests {
  private let run: TestRun

  init() throws { run = try TestRun(environment: ["AWS_ACCESS_KEY_ID": "EID", "AWS_SECRET_ACCESS_KEY": "ES"]) }

  private func server() throws -> LoopbackServer {
    try LoopbackServer { request in
      if request.path == "/go" { return .redirect(to: "/end") }
      if request.path == "/missing" { return .text("no", status: .notFound) }
      return .text("hello").with("X-Reply", "r")
    }
  }

  @Test(arguments: ["a.example:PORT:127.0.0.1", "a.example:127.0.0.1", "A.Example:PORT:[::1],127.0.0.1"])
  func aNameLeadsToAnAddress(entry: String) async throws {
    let server = try server()
    let entry = entry.replacing("PORT", with: "\(server.port)")
    let result = try await run("get", "http://a.example:\(server.port)/", "--resolve", entry)
    #expect(result.text == "hello", "\(result.errors.text)")
    #expect(try await server.request(1).fields[.host] == "a.example:\(server.port)")
  }

  @Test(arguments: ["lo", "127.0.0.1", "127.0.0.9"])
  func connectionsBeginAtAnInterface(name: String) async throws {
    let server = try server()
    let result = try await run("get", "http://127.0.0.1:\(server.port)/", "--interface", name)
    #expect(result.text == "hello", "\(result.errors.text)")
  }

  @Test func anUnknownInterfaceIsNamedWithThoseThatExist() async throws {
    let result = try await run("get", "http://127.0.0.1:1/", "--interface", "nonsuch0")
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("'nonsuch0' is neither an IP address nor an interface with one: there are "))
    #expect(result.errors.text.contains("lo"))
  }

  @Test func aUnixSocketTakesTheRequest() async throws {
    let path = run.folder.file("s.sock").path
    let script = """
      import socket, sys
      s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(end="r", flush=True)
      c = s.accept()[0]; head = c.recv(9999).split(b"\\r\\n")
      body = head[0] + b" " + head[1]
      c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body); c.recv(1)
      """
    let listener = try ChildProcess("python3", ["-c", script, path], output: .read)
    #expect(listener.read().map { String(decoding: $0, as: UTF8.self) } == "r")
    let result = try await run("get", "http://api.example/info", "--unix-socket", "s.sock")
    #expect(result.text == "GET /info HTTP/1.1 Host: api.example", "\(result.errors.text)")
  }

  @Test(arguments: [
    (#"%{http_code} %{num_redirects}\n"#, "200 1\n"), ("100%% %header{x-reply} %header{none}|", "100% r |"),
    ("%{content_type};%{http_version};%{scheme};%{method}", "text/plain; charset=utf-8;1.1;http;GET"),
    ("%{size_download}\\t%{exitcode}%{errormsg}", "5\t0"), ("50% %a", "50% %a"),
  ])
  func measurementsAreWrittenAtTheEnd(format: String, text: String) async throws {
    let server = try server()
    let result = try await run("get", ":\(server.port)/go", "-o", "body.txt", "-w", format)
    #expect(result.text == text)
    #expect(try run.text(of: "body.txt") == "hello")
  }

  @Test func aFormatMayBeAFileAndTimesAreInOrder() async throws {
    let server = try server()
    try run.folder.write(Data("%{time_connect} %{time_starttransfer} %{time_total} %{url_effective}".utf8), to: "f.txt")
    let words = try await run("get", ":\(server.port)/go", "-q", "-w", "@f.txt").text.split(separator: " ")
    let times = words.prefix(3).compactMap { Double($0) }
    #expect(times.count == 3 && times == times.sorted() && times[2] > 0)
    #expect(words.last == "http://localhost:\(server.port)/end")
  }

  @Test func aRetryAfterARedirectIsNoRedirect() async throws {
    let server = try LoopbackServer { request in
      switch request.connection {
      case 1: .redirect(to: "/end").closing()
      case 2: .reset
      default: .text("hello")
      }
    }
    let result = try await run("get", ":\(server.port)/go", "--retry", "1", "-q", "-w", "%{num_redirects}")
    #expect(result.code == .success)
    #expect(result.text == "1")
    #expect(server.requests.count == 3)
  }

  @Test func measurementsOfAFailureAreWrittenToo() async throws {
    let server = try server()
    let missing = try await run(
      "get", ":\(server.port)/missing", "--check-status", "-q", "-w", "%{http_code} %{exitcode}")
    #expect(missing.text == "404 4" && missing.code == .clientError)
    let port = server.port
    server.stop()
    let refused = try await run("get", ":\(port)/", "-w", "%{http_code} %{exitcode} %{errormsg}")
    #expect(refused.code == .connection)
    #expect(refused.text.hasPrefix("000 7 localhost:\(port)"), "\(refused.text)")
  }

  @Test func measurementsThatCannotBeWrittenAreNotWrittenAgain() async throws {
    let server = try server()
    let result = try await run(
      "get", ":\(server.port)/", "-o", "body.txt", "-w", "%{http_code} %{exitcode}", outputLimit: 0)
    #expect(result.output.refused == ["200 0"])
    #expect(result.code == .brokenPipe)
  }

  @Test func aFileIsUploadedUnderItsName() async throws {
    let server = try server()
    try run.folder.write(Data("file text".utf8), to: "note.txt")
    _ = try await run("-T", "note.txt", ":\(server.port)/folder/")
    _ = try await run("post", ":\(server.port)/as", "--upload-file", "note.txt")
    _ = try await run("-T", "-", ":\(server.port)/in/", input: "typed")
    let (first, second, third) = (try await server.request(1), try await server.request(2), try await server.request(3))
    #expect(first.method == .put && first.target == "/folder/note.txt" && first.text == "file text")
    #expect(second.method == .post && second.target == "/as")
    #expect(third.method == .put && third.target == "/in/" && third.text == "typed")
  }

  @Test func aFileGetsTheLastNameOfTheURL() async throws {
    let server = try server()
    #expect(try await run("-O", ":\(server.port)/a/film.mp4?x=1").code == .success)
    #expect(try run.text(of: "film.mp4") == "hello")
    let second = try await run("-O", ":\(server.port)/a/film.mp4")
    #expect(second.errors.text == "martlet: 'film.mp4' exists: --overwrite replaces it\n")
  }

  @Test func requestsAreSignedForAWSAndOnlyForTheirHost() async throws {
    let other = try server()
    let server = try LoopbackServer { request in
      request.path == "/away" ? .redirect(to: "http://127.0.0.1:\(other.port)/") : .text("hi")
    }
    let line = ["get", ":\(server.port)/away", "--aws-sigv4", "aws:amz:eu-central-1:sqs"]
    #expect(try await run.run(line).text == "hello")
    _ = try await run.run(line + ["--auth", "KEY:SECRET"])
    let pattern = try Regex(
      #"AWS4-HMAC-SHA256 Credential=EID/\d{8}/eu-central-1/sqs/aws4_request, "#
        + #"SignedHeaders=accept;host;x-amz-date, Signature=[0-9a-f]{64}"#)
    let first = try #require(try await server.request(1).fields[.authorization])
    #expect(first.wholeMatch(of: pattern) != nil, "\(first)")
    #expect(try await server.request(2).fields[.authorization]?.contains("Credential=KEY/") == true)
    let redirected = try await other.request(1).fields
    #expect(redirected[.authorization] == nil && redirected["X-Amz-Date"] == nil)
  }

  @Test func theHostOfAWSNamesRegionAndService() async throws {
    let result = try await run(
      "get", "https://queue.sqs.eu-west-3.amazonaws.com/", "--aws-sigv4", "aws:amz", "--offline", "-p", "H")
    #expect(result.text.contains("/eu-west-3/sqs/aws4_request, "), "\(result.errors.text)")
  }

  @Test func aRecordingGoesThroughAProxy() async throws {
    let proxy = try LoopbackServer { .text("by proxy \($0.target)") }
    let server = try await ServerRun(
      run, "record", "--origin", "http://origin.example", "--har", "a.har", "--proxy", "127.0.0.1:\(proxy.port)")
    #expect(try await run("get", "\(server.address)/a").text == "by proxy http://origin.example/a")
  }
}
