import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import Testing

/// Informational responses, such as 103 Early Hints (RFC 8297), and the response that keeps them.
@Suite(.timeLimit(.minutes(5)))
struct EarlyHintsTests {
  private func session(_ server: LoopbackServer, cache: HTTPCache? = nil) -> HTTPSession {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.authority?.file
    var configuration = SessionConfiguration()
    configuration.cache = cache
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func server(secured: Bool, _ respond: @escaping LoopbackServer.Responder) throws -> LoopbackServer {
    secured ? try LoopbackServer(tls: .selfSigned, respond: respond) : try LoopbackServer(respond: respond)
  }

  private static let hinted = Reply.text("page")
    .preceded(by: .continue)
    .preceded(by: 103, fields: ["Link": "</style.css>; rel=preload; as=style", "X-Hint": "1"])
    .preceded(by: 103, fields: ["Link": "</script.js>; rel=preload; as=script"])
    .with("Link", "</final.css>; rel=preload")

  @Test(arguments: [false, true], [false, true])
  func aResponseHasThemWithoutAListenerAndItsHeadIsItsOwn(secured: Bool, listens: Bool) async throws {
    let server = try server(secured: secured) { _ in Self.hinted }
    let statuses = Mutex<[Int]>([])
    var request = HTTPRequest(.get, server.url)
    if listens {
      request.options.listeners = [
        EventHandler { event, _ in
          if case .informational(let head) = event { statuses.withLock { $0.append(head.status.code) } }
        }
      ]
    }

    let (data, response) = try await session(server).data(for: request)

    #expect(data == Data("page".utf8))
    #expect(response.informationalHeads.map(\.status) == [103, 103])
    let links = response.informationalHeads.flatMap(\.fields.links)
    #expect(links.map(\.target) == ["/style.css", "/script.js"])
    #expect(response.fields.links.map(\.target) == ["/final.css"])
    #expect(!response.fields.contains("X-Hint"))
    #expect(response.networkHead?.fields.contains("X-Hint") == false)
    #expect(statuses.withLock { $0 } == (listens ? [100, 103, 103] : []))
  }

  @Test func onlyThoseOfTheLastAttemptAreKept() async throws {
    let server = try LoopbackServer { request in
      request.path == "/"
        ? .redirect(to: "/page").preceded(by: 103, fields: ["Link": "</first>; rel=preload"])
        : .text("page").preceded(by: 103, fields: ["Link": "</second>; rel=preload"])
    }
    let response = try await session(server).data(for: HTTPRequest(.get, server.url)).1
    #expect(response.informationalHeads.flatMap(\.fields.links).map(\.target) == ["/second"])
  }

  @Test func aStoredResponseHasNoneAndAConfirmedOneThoseOfTheConfirmation() async throws {
    let server = try LoopbackServer { request in
      let hint = Reply.text("page", status: request.fields.contains(.ifNoneMatch) ? .notModified : .ok)
        .with(.eTag, "\"1\"").with(.cacheControl, "max-age=60")
      return hint.preceded(by: 103, fields: ["X-Number": "\(request.fields.contains(.ifNoneMatch))"])
    }
    let session = session(server, cache: HTTPCache())
    var request = HTTPRequest(.get, server.url)
    let first = try await session.data(for: request).1
    let stored = try await session.data(for: request).1
    request.fields[.cacheControl] = "no-cache"
    let confirmed = try await session.data(for: request).1
    #expect(first.informationalHeads.map { $0.fields["X-Number"] } == ["false"])
    #expect(stored.source == .cache && stored.informationalHeads.isEmpty)
    #expect(confirmed.source == .revalidated)
    #expect(confirmed.informationalHeads.map { $0.fields["X-Number"] } == ["true"])
  }

  @Test(arguments: [false, true])
  func theirNumberAndSizeAreBounded(secured: Bool) async throws {
    let server = try server(secured: secured) { request in
      let count = request.path == "/many" ? 101 : request.path == "/most" ? 100 : 4
      let fields: HTTPFields = request.path == "/large" ? ["X-Pad": String(repeating: "a", count: 8000)] : [:]
      return (1...count).reduce(Reply.text("page")) { reply, _ in reply.preceded(by: 103, fields: fields) }
    }
    let session = session(server)
    #expect(try await session.data(for: HTTPRequest(.get, server.url("/most"))).1.informationalHeads.count == 100)
    await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url("/many"))) }
    let large = HTTPRequest(.get, server.url("/large"))
    #expect(try await session.data(for: large).1.informationalHeads.count == 4)
    var limited = large
    limited.options.headLimit = 16_000
    let request = limited
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    #expect(error?.kind == .headTooLarge)
  }
}
