#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// Requests and responses between the session and nghttp2's server side.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2ExchangeTests {
  @Test(arguments: [1, 7, Int.max])
  func aResponseComesAsHeadBodyAndEnd(pieces: Int) throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0, 200, [("content-type", "text/plain")], body: Array("hello".utf8)) }
    let (id, recorder) = try client.submit(.get, "/a?b=c", fields: [.accept: "text/plain"])

    client.talk(to: server, pieces: pieces)

    #expect(recorder.events == ["head HTTP/2 200 |content-type: text/plain|", "body", "end"])
    #expect(recorder.bodyText == "hello")
    #expect(recorder.head?.version == .http2)
    #expect(recorder.isSent)
    let request = try #require(server.requests[id])
    #expect(
      request.fields.map { "\($0.name): \($0.value)" } == [
        ":method: GET", ":scheme: https", ":authority: host.example", ":path: /a?b=c", "accept: text/plain",
      ])
    #expect(client.session.streams.isEmpty)
  }

  @Test(arguments: [(HTTPMethod.head, 200), (.get, 204), (.get, 304)])
  func aResponseWithoutABodyEndsWithItsHead(_ method: HTTPMethod, _ status: Int) throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0, status, status == 204 ? [] : [("content-length", "5")]) }
    let (_, recorder) = try client.submit(method)

    client.talk(to: server)

    #expect(recorder.events.last == "end")
    #expect(recorder.head?.status.code == status)
  }

  @Test func trailersAndInformationalHeadsAreDelivered() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = {
      server.inform($0, 103, [("link", "</a.css>")])
      server.respond($0, body: Array("x".utf8), trailers: [("digest", "abc"), ("b", "")])
    }
    let (_, recorder) = try client.submit()

    client.talk(to: server)

    #expect(
      recorder.events == [
        "informational HTTP/2 103 |link: </a.css>|", "head HTTP/2 200 |", "body", "end digest: abc|b: |",
      ])
  }

  @Test func aBodyOfKnownLengthEndsWithItsLastData() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0) }
    let body = [UInt8](repeating: 7, count: 20_000)
    let (id, recorder) = try client.submit(.post, framing: .length(20_000), parts: [.bytes(body, .end)])

    client.talk(to: server)

    let request = try #require(server.requests[id])
    #expect(request["content-length"] == "20000")
    #expect(request.body == body)
    #expect(request.dataFrames == 2)
    #expect(recorder.events == ["head HTTP/2 200 |", "end"])
  }

  @Test func aBodyIsPulledAsItIsProduced() throws {
    let client = try HTTP2Client()
    let server = HTTP2Server()
    server.onRequest = { server.respond($0) }
    let (id, recorder) = try client.submit(
      .post, framing: .unknownLength, parts: [.pause, .bytes([1], .more), .pause, .bytes([2], .more), .bytes([], .end)])

    client.talk(to: server)
    #expect(recorder.readCount == 1)
    #expect(server.requests[id]?["content-length"] == nil)
    client.session.resume(id)
    client.talk(to: server)
    #expect(server.requests[id]?.body == [1])
    #expect(server.requests[id]?.isWhole == false)
    client.session.resume(id)
    client.talk(to: server)

    #expect(server.requests[id]?.body == [1, 2])
    #expect(recorder.events == ["head HTTP/2 200 |", "end"])
  }
}
#endif
