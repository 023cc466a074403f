import MartletSemantics
import MartletTesting
import Testing

/// The curl command as the client, where it is installed.
@Suite(.timeLimit(.minutes(5)), .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")))
struct CurlCommandTests {
  @Test func itReadsAReply() async throws {
    let server = try LoopbackServer { .text("hello \($0.path)") }
    #expect(try await curl(server.url("/a").absoluteString).output == "hello /a")
  }

  @Test func itReusesAConnection() async throws {
    let server = try LoopbackServer { .text($0.path) }
    let urls = ["/1", "/2", "/3"].map { server.url($0).absoluteString }
    #expect(try await curl(urls).output == "/1/2/3")
    #expect(server.connectionCount == 1)
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test(arguments: [["-H", "Transfer-Encoding: chunked"], ["-H", "Expect: 100-continue"], []])
  func itUploads(options: [String]) async throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "0123456789", count: 300_000)
    let file = try folder.write(Data(text.utf8), to: "a.txt")
    let server = try LoopbackServer { .text("\($0.body.count)") }
    #expect(try await curl(options + ["-T", file.path, server.url("/").absoluteString]).output == "3000000")
    #expect(server.requests[0].text == text)
  }

  @Test func itReadsChunksAndTrailers() async throws {
    let server = try LoopbackServer { _ in .text("hello").chunked(size: 2).with(trailer: "X-Sum", "42") }
    #expect(try await curl("-i", server.url("/").absoluteString).output.hasSuffix("\r\n\r\nhelloX-Sum: 42\r\n"))
  }

  @Test(arguments: [
    (Reply.text("hello").truncated(after: 2), Int32(18)),
    (.text("hello").chunked().truncated(after: 2), 18),
    (.text("hello").chunked(sizeLine: "zz"), 56),
    (.hangUp, 52),
    (.reset, 56),
    (.text("hello").reset(after: 2), 56),
    (.raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 0),
  ])
  func itReportsMisbehaviour(reply: Reply, code: Int32) async throws {
    let server = try LoopbackServer { _ in reply }
    #expect(try await curl(server.url("/").absoluteString).code == code)
  }

  @Test func itDownloadsAQuarterOfAGigabyte() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("0123456789abcdef".utf8), length: 256 << 20) }
    let result = try await curl("-o", "/dev/null", "-w", "%{size_download}", server.url("/").absoluteString)
    #expect(result.output == "\(256 << 20)")
  }

  @Test func itRequestsRangesAndRevalidates() async throws {
    let folder = try TemporaryFolder()
    try folder.write(Data("hello world".utf8), to: "ä ö.txt")
    let served = StaticFolder(folder.url)
    let server = try LoopbackServer { served.reply(to: $0) }
    let url = server.url("/%C3%A4%20%C3%B6.txt").absoluteString
    #expect(try await curl("-r", "6-", url).output == "world")
    let tag = try await curl("-o", "/dev/null", "-w", "%header{etag}", url).output
    let status = try await curl("-o", "/dev/null", "-w", "%{http_code}", "-H", "If-None-Match: \(tag)", url).output
    #expect(status == "304")
    #expect(
      try await curl("--path-as-is", "-w", "%{http_code}", "-o", "/dev/null", server.url("/").absoluteString + "../x")
        .output == "404")
  }

  private func curl(_ arguments: String...) async throws -> (output: String, code: Int32?) { try await curl(arguments) }

  private func curl(_ arguments: [String]) async throws -> (output: String, code: Int32?) {
    let options = ["-s", "-q", "--noproxy", "*", "--max-time", "30"]
    let process = try ChildProcess("/usr/bin/curl", options + arguments, output: .read)
    let output = String(decoding: process.readToEnd(), as: UTF8.self)
    return (output, process.exitCode())
  }
}
