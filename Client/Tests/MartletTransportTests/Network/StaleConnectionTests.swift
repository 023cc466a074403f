import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestSupport
import TestServers
import Testing

@Suite("Stale connections", .timeLimit(.minutes(5)))
struct StaleConnectionTests {
  /// Returns a server that answers the first request of the first connection and closes it at the second; other
  /// connections work.
  private func server(_ end: Reply) throws -> LoopbackServer {
    let count = Mutex(0)
    return try LoopbackServer { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return number == 2 ? end : .text("reply \(number)")
    }
  }

  private func session(_ policy: RetryPolicy = RetryPolicy()) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.options.retryPolicy = policy
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  @Test(arguments: [Reply.hangUp, .reset])
  func aRepeatableRequestIsSentAgainAndReported(end: Reply) async throws {
    let server = try server(end)
    let session = session()
    let notes = Mutex<[String]>([])
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    var request = HTTPRequest(.put, server.url, body: .data(Data("content".utf8)))
    request.options.listeners = [
      EventHandler { event, _ in if case .note(let note) = event { notes.withLock { $0.append(note) } } }
    ]

    let (data, _) = try await session.data(for: request)

    #expect(data == Data("reply 3".utf8))
    #expect(server.requests.map(\.text) == ["", "content", "content"])
    #expect(server.requests.map(\.connection) == [1, 1, 2])
    #expect(notes.withLock { $0.map { $0.contains("sent again on another connection") } } == [true])
  }

  @Test(arguments: [Reply.hangUp, .reset], ["", "order"])
  func aPostIsNeverSentTwice(end: Reply, body: String) async throws {
    let server = try server(end)
    let session = session()
    _ = try await session.data(for: HTTPRequest(.get, server.url))

    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, server.url, body: .data(Data(body.utf8))))
    }

    #expect(error?.kind == .connectionLost)
    #expect(error?.delivery == .staleConnection)
    #expect(error?.message.hasSuffix("it is not known whether the server has acted on the request") == true)
    #expect(server.requests.map(\.method) == [.get, .post])
  }

  @Test func aPostMarkedAsRepeatableIsSentAgainWithANewStream() async throws {
    let server = try server(.hangUp)
    let session = session()
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    let body = RequestBody.stream {
      AsyncStream { continuation in
        continuation.yield(Data("whole".utf8))
        continuation.finish()
      }
    }
    var request = HTTPRequest(.post, server.url, body: body)
    request.options.isIdempotent = true

    let (data, response) = try await session.data(for: request)

    #expect(data == Data("reply 3".utf8))
    #expect(response.history.map(\.reason).first?.contains("connection from the pool") == true)
    #expect(server.requests.map(\.text) == ["", "whole", "whole"])
  }

  @Test func aPolicyCanDisableTheResend() async throws {
    let server = try server(.hangUp)
    let session = session(.never)
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect(error?.delivery == .staleConnection)
    #expect(server.requests.count == 2)
  }

  @Test func aNewConnectionThatEndsWithoutAResponseIsNotStale() async throws {
    let server = try LoopbackServer { _ in .hangUp }
    let error = await #expect(throws: HTTPError.self) { try await session().data(for: HTTPRequest(.get, server.url)) }
    #expect(error?.kind == .connectionLost)
    #expect(error?.delivery == .unknown)
    #expect(server.requests.count == 1)
  }

  @Test func anIncompleteResponseIsNotAStaleConnection() async throws {
    let server = try server(.raw("HTTP/1.1 200 OK\r\nContent-"))
    let session = session()
    _ = try await session.data(for: HTTPRequest(.get, server.url))
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect(error?.kind == .connectionLost)
    #expect(error?.delivery == .unknown)
    #expect(server.requests.count == 2)
  }

  /// An answer that the transport handles itself says nothing about later requests.
  @Test(arguments: [RequestBody.data(Data("order".utf8)), .empty])
  func aPostChallengedByAProxyIsNotSentTwiceAfterwards(body: RequestBody) async throws {
    let proxy = try LoopbackServer { request in
      guard request.fields.contains(.proxyAuthorization) else {
        return .status(
          .proxyAuthenticationRequired, fields: [.proxyAuthenticate: "Digest realm=p, nonce=n, qop=auth"])
      }
      return request.target.hasSuffix("/last") ? .hangUp : .text(request.text)
    }
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: proxy.port).authenticated(user: "a", password: "b", schemes: [.digest])
    let session = HTTPSession(transport: SocketTransport(connection))
    let first = url("http://a.example/")
    let url = url("http://a.example/last")
    let (data, _) = try await HTTPSession(transport: SocketTransport(connection)).data(
      for: HTTPRequest(.post, first, body: body))
    #expect(data.count == body.length.map(Int.init))

    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, url, body: body))
    }

    #expect(error?.kind == .connectionLost)
    #expect(proxy.requests.count { $0.fields.contains(.proxyAuthorization) } == 2)
  }

  @Test func postsSurviveAServerThatEndsHTTP2ConnectionsGracefully() async throws {
    let nginx = try Nginx.shared.get()
    var configuration = ConnectionConfiguration()
    configuration.tls.authorities = nginx.authority.certificate
    let session = HTTPSession.uncached(configuration)
    var outcomes: [String: Int] = [:]
    // this location reads the body before it answers; HTTP2FaultTests has a server that does not
    await withTaskGroup(of: [String].self) { group in
      for _ in 0..<5 { group.addTask { await self.post(60, to: nginx.brief("/put"), session) } }
      for await some in group { for outcome in some { outcomes[outcome, default: 0] += 1 } }
    }
    #expect(outcomes == ["200 HTTP/2": 300])
  }

  /// The results of this number of posts, one after another.
  private func post(_ count: Int, to url: URL, _ session: HTTPSession) async -> [String] {
    var outcomes: [String] = []
    for _ in 0..<count {
      do throws(HTTPError) {
        let response = try await session.data(for: HTTPRequest(.post, url, body: .data(Data("order".utf8)))).1
        outcomes.append("\(response.status.code) \(response.networkHead?.version?.rawValue ?? "")")
      } catch { outcomes.append(error.description) }
    }
    return outcomes
  }
}
