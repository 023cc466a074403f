import MartletCurl
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SmokeTests {
  @Test func getsText() async throws {
    let server = try LoopbackServer { request in .text("hello \(request.path)") }
    let session = HTTPSession(transport: CurlTransport())
    let (data, response) = try await session.data(for: HTTPRequest(.get, server.url("/there")))
    #expect(String(decoding: data, as: UTF8.self) == "hello /there")
    #expect(response.status == 200)
    for _ in 0..<50 { _ = try await session.data(for: HTTPRequest(.get, server.url("/there"))) }
    #expect(server.connectionCount == 1)
  }
  @Test func postsAndUploads() async throws {
    let server = try LoopbackServer { request in .text("got \(request.received.body.count)") }
    let session = HTTPSession(transport: CurlTransport())
    let (data, _) = try await session.upload(for: HTTPRequest(.post, server.url("/")), from: .data(Data(count: 3_000_000)))
    #expect(String(decoding: data, as: UTF8.self) == "got 3000000")
    let chunks = AsyncStream<Data> { c in for _ in 0..<100 { c.yield(Data(count: 50_000)) }; c.finish() }
    let (data2, _) = try await session.upload(for: HTTPRequest(.post, server.url("/")), from: .singleUse(chunks))
    #expect(String(decoding: data2, as: UTF8.self) == "got 5000000")
    #expect(server.requests[1].fields[.transferEncoding] == "chunked")
  }
  @Test func streamsLarge() async throws {
    let server = try LoopbackServer { _ in .repeating(Data(repeating: 7, count: 1000), length: 300_000_000) }
    let session = HTTPSession(transport: CurlTransport())
    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url("/")))
    var n = 0
    for try await chunk in body { n += chunk.count }
    #expect(n == 300_000_000)
    let (data, _) = try await session.data(for: HTTPRequest(.get, server.url("/")))
    #expect(data.count == 300_000_000)
  }
  @Test func errors() async throws {
    let session = HTTPSession(transport: CurlTransport())
    do { _ = try await session.data(for: HTTPRequest(.get, URL(string: "http://127.0.0.1:1/")!)); Issue.record() } catch { print(error); #expect(error.kind == .cannotConnect) }
    let server = try LoopbackServer { _ in .never }
    var r = HTTPRequest(.get, server.url("/")); r.options.responseTimeout = .milliseconds(100)
    do { _ = try await session.data(for: r); Issue.record() } catch { print(error); #expect(error.kind == .responseTimeout) }
    let t = Task { [s = server.url("/")] in try await session.data(for: HTTPRequest(.get, s)) }
    _ = try await server.request(2)
    t.cancel()
    let e = await #expect(throws: HTTPError.self) { try await t.value }
    #expect(e?.kind == .cancelled)
  }
}
