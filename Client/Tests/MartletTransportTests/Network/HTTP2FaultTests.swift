import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestServers
import Testing

/// HTTP/2 servers that violate the protocol.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2FaultTests {
  private func session(
    _ server: FrameServer, _ versions: ConnectionConfiguration.Versions = .automatic,
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    change(&connection)
    connection.tls.authorities = server.authority.certificate
    connection.versions = versions
    var configuration = SessionConfiguration()
    configuration.options.retryPolicy = .never
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func post(_ server: FrameServer, _ session: HTTPSession) async throws(HTTPError) -> String {
    let request = HTTPRequest(.post, server.url, body: .data(Data("order".utf8)))
    return String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  private func failure(_ server: FrameServer, _ session: HTTPSession) async -> HTTPError? {
    do throws(HTTPError) {
      _ = try await post(server, session)
      return nil
    } catch { return error }
  }

  /// Returns the number of requests that the server has received, including this one.
  private func count(_ server: FrameServer, _ session: HTTPSession) async throws -> Int? {
    var request = HTTPRequest(.get, server.url)
    request.options.cachePolicy = .reloadIgnoringCacheData
    return Int(String(decoding: try await session.data(for: request).0, as: UTF8.self))
  }

  @Test(arguments: [FrameServer.Fault.idleData, .badSettings, .end])
  func aPostOverAFailingConnectionIsSentOnce(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(server)
    #expect(try await post(server, session) == "1")

    let error = await failure(server, session)

    #expect(error?.isUnsent == false)
    #expect(error?.delivery != .refused)
    #expect(try await count(server, session) == 3)
  }

  @Test func aPostRefusedByAGoAwayHasTheDeliveryRefused() async throws {
    let server = try FrameServer(.goAway)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)

    #expect(error?.delivery == .refused)
  }

  @Test func aRefusedPostIsSentAgainByTheSessionOnly() async throws {
    let server = try FrameServer(.refused)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)

    #expect(error?.kind == .connectionLost)
    #expect(try await count(server, session) == 3)
  }

  @Test(arguments: [FrameServer.Fault.cutByIdleData, .cutBySettings, .cutByGoAway, .cut])
  func aResponseWithoutLengthThatIsCutOffIsAnError(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(server)
    _ = try await post(server, session)

    let error = await failure(server, session)

    #expect(error?.kind == .connectionLost)
    #expect(error?.phase == .receiving)
  }

  @Test(arguments: [FrameServer.Fault.graceful, .whole])
  func aResponseWithoutLengthThatEndsIsComplete(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(server)
    _ = try await post(server, session)

    #expect(try await post(server, session) == "whole")
    #expect(try await post(server, session) == "3")
  }

  /// RFC 9113 §8.1: "Clients MUST NOT discard responses as a result of receiving such a RST_STREAM".
  @Test(arguments: [FrameServer.Fault.early, .earlyAtOnce])
  func aResponseIsReturnedIfTheServerDoesNotReadTheRequestsBody(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(server)
    let isAnswered = Gate()
    var request = HTTPRequest(.post, server.url)
    (request.options.idleTimeout, request.options.responseTimeout) = (.seconds(120), .seconds(120))
    request.options.listeners = [EventHandler { event, _ in if case .response = event { isAnswered.open() } }]
    request.body = .stream {
      AsyncStream { chunks in
        let feeding = Task {
          chunks.yield(Data(repeating: 1, count: 1000))
          try await isAnswered.wait()
          for _ in 0..<10 { chunks.yield(Data(repeating: 2, count: 1000)) }
          chunks.finish()
        }
        chunks.onTermination = { _ in feeding.cancel() }
      }
    }

    let (body, response) = try await session.data(for: request)

    #expect(String(decoding: body, as: UTF8.self) == "whole")
    #expect(response.status == .ok)
  }

  @Test(arguments: [true, false])
  func aResponseWithoutLengthIsCompleteIfConnectionsAreNotReused(tls: Bool) async throws {
    let server = try FrameServer(.noLength, tls: tls)
    let session = session(server, tls ? .automatic : .http2PriorKnowledge) { $0.idleLifetime = .zero }
    for number in 1...3 { #expect(try await post(server, session) == "\(number)") }
  }

  /// With a limit of one connection, each request evicts the connection of the previous one.
  @Test func aResponseWithoutLengthIsCompleteIfItsConnectionIsEvicted() async throws {
    let server = try FrameServer(.noLength, tls: false)
    let session = session(server, .http2PriorKnowledge) { $0.connectionLimitPerHost = 1 }
    await withTaskGroup(of: HTTPError?.self) { group in
      for _ in 0..<100 { group.addTask { await failure(server, session) } }
      for await error in group { #expect(error == nil) }
    }
  }

  @Test func aTooLargeHeadHasItsOwnKind() async throws {
    let server = try FrameServer(.largeHead)
    let session = session(server)
    _ = try await post(server, session)

    var request = HTTPRequest(.get, server.url)
    request.options.headLimit = 150_000
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    #expect(error?.kind == .headTooLarge)
    #expect(try await count(server, session) == 3)
  }

  @Test func http2PriorKnowledgeSendsSeveralPosts() async throws {
    let server = try FrameServer(.none, tls: false)
    let session = session(server, .http2PriorKnowledge)
    for number in 1...20 { #expect(try await post(server, session) == "\(number)") }
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 { group.addTask { (try? await self.post(server, session)) != nil } }
      for await isDone in group { #expect(isDone) }
    }
  }

  @Test func http2PriorKnowledgeRefusesAnHTTP1Response() async throws {
    // A server with limits speaks no HTTP/2 without TLS.
    let server = try LoopbackServer(port: 0, bodies: .collected(upTo: 0), limits: .init()) { _ in .text("hello") }
    var connection = ConnectionConfiguration()
    connection.versions = .http2PriorKnowledge
    let session = HTTPSession.uncached(connection)
    await #expect(throws: HTTPError.self) { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
  }
}
