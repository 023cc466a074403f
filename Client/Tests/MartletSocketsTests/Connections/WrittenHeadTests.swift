#if os(Linux)
import MartletEngine
import MartletSemantics
@_spi(Toolkit) import MartletTesting
import TestServers
import Testing

@testable import MartletSockets

/// The reported head of a request is equal to the one that the server receives.
@Suite(.timeLimit(.minutes(5)))
struct WrittenHeadTests {
  private let events = Awaitable<[WrittenHead]>([])

  private func session(_ configuration: ConnectionConfiguration = .init()) -> HTTPSession {
    var session = SessionConfiguration()
    session.listeners = [
      EventHandler(.written) { [events] event, _ in
        if case .written(let head) = event { events.update { $0.append(head) } }
      }
    ]
    return HTTPSession(transport: SocketTransport(configuration), configuration: session)
  }

  @Test func itIsTheHeadThatTheServerReceives() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    let request = HTTPRequest(.post, server.url("/a?b=c"), fields: ["X-A": "å"], body: .data(Data("hello".utf8)))
    _ = try await session().data(for: request)

    let (head, received) = (try #require(events.value.first), try await server.request(1))
    #expect(head.method == .post && head.target == "/a?b=c" && head.version == .http1_1)
    #expect(head.fields == received.fields)
    #expect(head.fields[.host] == "127.0.0.1:\(server.port)" && head.fields[.contentLength] == "5")
    #expect(head.fields.contains(.acceptEncoding))
    #expect(head.description == "POST /a?… HTTP/1.1")
  }

  @Test func everyRequestIsReported() async throws {
    let server = try LoopbackServer { request in request.path == "/old" ? .redirect(to: "/new") : .text("ok") }
    _ = try await session().data(for: HTTPRequest(.get, server.url("/old")))
    #expect(events.value.map(\.target) == ["/old", "/new"])
  }

  @Test func theAuthorityIsTheHostOverHTTP2() async throws {
    let server = try FrameServer(.kinds, tls: false)
    var configuration = ConnectionConfiguration()
    configuration.versions = .http2PriorKnowledge
    _ = try await session(configuration).data(for: HTTPRequest(.get, server.url, fields: ["X-A": "b"]))

    let head = try #require(events.value.first)
    #expect(head.version == .http2 && head.method == .get && head.target == server.url.path)
    #expect(head.fields.first { _ in true }?.name == "Host")
    #expect(head.fields[.host] == server.url.absoluteString.split(separator: "/")[1].description)
    #expect(head.fields["x-a"] == "b" && head.fields.contains(.acceptEncoding))
    #expect(!head.fields.contains { $0.name.rawName.hasPrefix(":") })
  }

  @Test func aProxyThatForwardsGetsAnAbsoluteTarget() async throws {
    let proxy = try LoopbackServer { _ in .text("ok") }
    var configuration = ConnectionConfiguration()
    configuration.proxy = .http("127.0.0.1", port: proxy.port)
    _ = try await session(configuration).data(for: HTTPRequest(.get, "http://shop.example/a"))
    #expect(events.value.map(\.target) == ["http://shop.example/a"])
  }
}
#endif
