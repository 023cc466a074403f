import MartletEngine
import MartletObservation
import MartletSemantics
import MartletSockets
import MartletTesting
import Testing

/// The recorder over real sockets: the metrics in the archive, and the archive's format.
@Suite("Archives of real calls", .timeLimit(.minutes(5)))
struct RecordingTests {
  private let recorder = HARRecorder()

  private func session() -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.listeners = [recorder]
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private func record() async throws {
    let file = try TemporaryFolder()
    try file.write(Data("{\"password\": \"p\"}".utf8), to: "body.json")
    let server = try LoopbackServer { request in
      switch request.path {
      case "/redirect": .redirect(to: "/hello").with(.setCookie, "a=1; Path=/; Expires=Sun, 06 Nov 2094 08:49:37 GMT")
      case "/hangup": .hangUp
      case "/binary": .data(Data([0, 1, 2]), type: "image/png")
      case "/early": .text("hello").preceded(by: 103)
      default: .text("hello ä")
      }
    }
    let session = session()
    for path in ["/redirect?q=1&token=x", "/hangup", "/binary", "/early", "/missing"] {
      _ = try? await session.data(for: HTTPRequest(.get, server.url(path)))
    }
    let fields: HTTPFields = [.contentType: "application/json", .cookie: "a=1"]
    let body = RequestBody.file(file.file("body.json"))
    _ = try await session.data(for: HTTPRequest(.post, server.url("/post"), fields: fields, body: body))
    var head = HTTPRequest(.head, server.url("/"))
    head.options.deadline = .seconds(120)
    _ = try await session.data(for: head)
  }

  @Test func theArchiveConformsToTheFormat() async throws {
    try await record()
    let json = try recorder.har.json()

    #expect(try HARFormat.problems(in: json) == [])
    #expect(try HAR(json: json).json() == json)
    #expect(recorder.har.log.entries.count == 8)
  }

  @Test func theCheckFindsErrorsInAnArchive() async throws {
    try await record()
    var har = recorder.har
    har.log.entries[0].time += 1
    har.log.entries[1].timings.wait = -1
    let text = String(decoding: try har.json(), as: UTF8.self)
      .replacing("\"redirectURL\"", with: "\"redirectUrl\"", maxReplacements: 1)

    let problems = try HARFormat.problems(in: Data(text.utf8))

    #expect(problems.contains { $0.contains("entries[0].time is") })
    #expect(problems.contains { $0.contains("timings.wait is") })
    #expect(problems.contains { $0.hasSuffix("redirectURL is missing") })
    #expect(problems.contains { $0.hasSuffix("redirectUrl is not in the format") })
  }

  @Test func theMetricsOfTheTransportAreRecorded() async throws {
    try await record()
    let entries = recorder.har.log.entries
    let post = try #require(entries.first { $0.request.method == "POST" })
    let last = try #require(entries.last)

    #expect(post.request.postData?.text == "{\"password\": \"***\"}")
    #expect(post.request.bodySize == 17 && post.response.bodySize == 8 && post.response.content.size == 8)
    #expect(post.response.headersSize > 0 && post.response.httpVersion == "HTTP/1.1")
    #expect(post.serverIPAddress == "127.0.0.1" && post.connection == last.connection)
    #expect(last.timings.connect == -1 && last.timings.dns == -1 && last.time > 0)
    let early = try #require(entries.first { $0.request.url.hasSuffix("/early") })
    #expect(early.response.headersSize == -1 && early.response.status == 200)
    let failed = try #require(entries.first { $0.request.url.hasSuffix("/hangup") })
    #expect(failed.response.status == 0 && failed.response.error?.hasPrefix("connectionLost") == true)
    #expect(entries[0].comment?.contains("302 redirect") == true && entries[0].request.queryString.count == 2)
  }
}
