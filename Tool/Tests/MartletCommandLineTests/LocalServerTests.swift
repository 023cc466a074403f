import Dispatch
import Glibc
@testable import MartletCommandLine
import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import Testing

/// The responses of `serve` and `record` to web pages, foreign clients and other hosts.
@Suite("serve and record among strangers", .timeLimit(.minutes(5)))
struct LocalServerTests {
  private let run: TestRun

  init() throws {
    run = try TestRun()
    try run.folder.write(Data("0123456789".utf8), to: "pub/a.txt")
  }

  /// A program's output. It is read on a separate thread: the servers of this process need the others.
  private func output(of program: String, _ arguments: [String]) async throws -> String {
    let process = try ChildProcess(program, arguments, output: .read)
    return await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: String(decoding: process.readToEnd(), as: UTF8.self))
      }
    }
  }

  private func curl(_ arguments: String...) async throws -> String {
    try await output(of: "curl", ["-s", "-i", "--max-time", "60"] + arguments)
  }

  /// Opens a connection, and sends the beginning of a request.
  private func begin(_ text: String, at port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let isOpen = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isOpen, send(descriptor, text, text.utf8.count, 0) == text.utf8.count else {
      throw UsageError("cannot connect")
    }
    return descriptor
  }

  @Test(arguments: [
    "GET /a.txt HTTP/1.1\r\nHost: loc", "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
    "GET /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4",
  ])
  func halfRequestsGiveWayToOthers(half: String) async throws {
    let server = try await ServerRun(run, "serve", "pub")
    let port = try #require(URL(string: server.address)?.port.flatMap { UInt16(exactly: $0) })
    var open: [Int32] = []
    defer { for descriptor in open { close(descriptor) } }
    for _ in 1...256 { open.append(try begin(half, at: port)) }
    for _ in 1...3 { #expect(try await run("get", "\(server.address)/a.txt").text == "0123456789") }
  }

  @Test func aPageThatMakesItsNameLeadHereReadsNothing() async throws {
    let server = try await ServerRun(run, "serve", "pub")
    let refused = try await run("get", "\(server.address)/a.txt", "Host:evil.example", "-p", "hb")
    #expect(refused.text.contains("421") && refused.text.contains("--host NAME"))
    #expect(!refused.text.contains("0123456789"))
    #expect(try await run("get", "\(server.address)/a.txt").text == "0123456789")
  }

  @Test func anotherHostIsServedIfItIsNamed() async throws {
    let server = try await ServerRun(run, "serve", "pub", "--host", "Dev.example")
    #expect(try await run("get", "\(server.address)/a.txt", "Host:dev.example:8000").text == "0123456789")
    #expect(try await run("get", "\(server.address)/a.txt", "Host:evil.example").text != "0123456789")
  }

  @Test(arguments: [
    ("localhost", true), ("LocalHost:8000", true), ("localhost.", true), ("api.localhost:1", true), ("127.0.0.1", true),
    ("127.1.2.3:80", true), ("[::1]", true), ("[::1]:80", true), ("dev.example", true), ("DEV.example.:1", true),
    ("evil.example", false), ("localhost.evil.example", false), ("127.0.0.1.evil.example", false), ("", false),
    ("localhost:80/evil.example", false), ("a@localhost.evil", false), ("10.0.0.1", false), ("[::2]", false),
    ("sub.dev.example", false), ("localhost, evil.example", false),
  ])
  func onlyNamesOfThisMachineAndThoseThatAreGivenAreAllowed(host: String, isAllowed: Bool) {
    let hosts = ServedHosts(["Dev.Example"])
    #expect(hosts.allow(host) == isAllowed)
    #expect(hosts.allow([.host: host]) == isAllowed)
    #expect(!hosts.allow([.host: host, .host: "evil.example"]))
  }

  @Test func aRedirectOfTheOriginNamesNoForeignHost() async throws {
    let origin = try LoopbackServer {
      .redirect(to: "http://127.0.0.1:\($0.fields[.host]?.split(separator: ":").last ?? "")/x")
    }
    let server = try await ServerRun(run, "record", "--origin", origin.url.absoluteString, "--har", "a.har")
    let reply = try await run("get", "\(server.address)/", "Host:evil.example", "--no-redirects", "-p", "hb")
    #expect(!reply.text.contains("Location") && reply.text.contains("421"))
    #expect(origin.requests.isEmpty)
  }

  @Test func aRedirectToAHostWhoseNameBeginsAsTheOriginsIsNotRewritten() async throws {
    let origin = try LoopbackServer {
      .redirect(to: "http://127.0.0.1:\($0.fields[.host]?.split(separator: ":").last ?? "").evil.example/x")
    }
    let server = try await ServerRun(run, "record", "--origin", origin.url.absoluteString, "--har", "a.har")
    let reply = try await curl("\(server.address)/")
    #expect(reply.contains("Location: http://127.0.0.1:\(origin.port).evil.example/x\r\n"))
  }

  @Test(arguments: ["/v2", "/?q=1", "/#top"])
  func anOriginThatIsMoreThanAServerIsRefused(rest: String) async throws {
    // the port is refused, too, so the program ends in any case
    let arguments = ["record", "--origin", "http://127.0.0.1:1\(rest)", "--har", "a.har", "--port", "70000"]
    let result = try await run.run(arguments)
    #expect(result.code == .failure)
    #expect(result.errors.text.contains("--origin has more than a server: write --origin http://127.0.0.1:1,"))
  }

  @Test func theLogHidesSecretsOfQueries() async throws {
    let origin = try LoopbackServer { _ in .text("hi") }
    let server = try await ServerRun(run, "record", "--origin", origin.url.absoluteString, "--har", "a.har")
    #expect(try await run("get", "\(server.address)/p?token=s3cret&a=1").text == "hi")
    server.interrupt()
    #expect(await server.result == .success)
    #expect(server.errors.text.contains("GET /p?token=***&a=1 200"))
    #expect(!server.errors.text.contains("s3cret"))
  }

  @Test func fieldsOfAConnectionAreNotPassedOn() async throws {
    let origin = try LoopbackServer { _ in
      .text("hi").with("X-Hop", "1").with("X-End", "1").with(.connection, "X-Hop, keep-alive")
    }
    let server = try await ServerRun(run, "record", "--origin", origin.url.absoluteString, "--har", "a.har")
    let reply = try await curl("-H", "Connection: X-Mine", "-H", "X-Mine: 1", "-H", "X-Other: 1", "\(server.address)/")
    let received = try await origin.request(1).fields
    #expect(received["X-Mine"] == nil && received["X-Other"] == "1")
    #expect(reply.contains("X-End: 1\r\n") && !reply.contains("X-Hop"))
  }

  @Test func textInLatin1IsPassedOn() async throws {
    let origin = try LoopbackServer { request in
      .raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Got: \(request.fields["X-Name"] ?? "")\r\n\r\n")
    }
    let server = try await ServerRun(run, "record", "--origin", origin.url.absoluteString, "--har", "a.har")
    let command = "curl -s -i -H $'X-Name: caf\\xe9' \(server.address)/"
    #expect(try await output(of: "bash", ["-c", command]).contains("X-Got: café\r\n"))
    #expect(try await origin.request(1).fields["X-Name"] == "café")
  }

  @Test(arguments: [
    ("200 Everything\tFine", "200 Everything Fine"), ("404 ", "404"), ("403 è vietato", "403 è vietato"),
    ("299 \u{202E}KO", "299 \u{FFFD}KO"), ("503 Service Unavailable", "503 Service Unavailable"),
  ])
  func theReasonPhraseOfTheOriginIsShownPassedOnAndRecorded(line: String, shown: String) async throws {
    let origin = try LoopbackServer { _ in .raw("HTTP/1.1 \(line)\r\nContent-Length: 0\r\n\r\n") }
    let server = try await ServerRun(run, "record", "--origin", origin.url.absoluteString, "--har", "a.har")
    #expect(try await curl("\(server.address)/").hasPrefix("HTTP/1.1 \(line)\r\n"))
    let printed = try await run("get", "\(server.address)/", "--print", "h")
    #expect(printed.text.hasPrefix("HTTP/1.1 \(shown)\n"))
    let told = try await run("get", "\(server.address)/", "--verbose").errors.text
    #expect(told.contains("< HTTP/1.1 \(shown)\n") && told.contains("* complete: \(shown), "))
    server.interrupt()
    #expect(await server.result == .success)
    let archive = try HAR(json: Data(contentsOf: run.folder.file("a.har")))
    let phrase = String(line.dropFirst(4))
    #expect(archive.log.entries.map(\.response.statusText) == [phrase, phrase, phrase])
  }

  @Test func anArchiveIsWrittenAtMostOnceASecondAndAtTheEnd() async throws {
    let origin = try LoopbackServer { _ in .text("hi") }
    let clock = ManualClock()
    let server = try await ServerRun(
      run, "record", "--origin", origin.url.absoluteString, "--har", "a.har", clock: clock)
    for _ in 1...3 { #expect(try await run("get", "\(server.address)/").text == "hi") }
    let archive = run.folder.file("a.har")
    #expect(try HAR(json: Data(contentsOf: archive)).log.entries.isEmpty)
    server.interrupt()
    #expect(await server.result == .success)
    #expect(try HAR(json: Data(contentsOf: archive)).log.entries.count == 3)
  }
}
