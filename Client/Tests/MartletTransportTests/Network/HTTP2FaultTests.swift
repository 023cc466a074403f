import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import TestServers
import Testing

/// HTTP/2 servers that violate the protocol.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2FaultTests {
  /// What the server does with the second request of its first connection, after which it is well.
  enum Fault {
    /// DATA on an idle stream, then the end of the connection (RFC 9113 §5.1).
    case idleData
    /// SETTINGS of a wrong size, then the end of the connection (§6.5).
    case badSettings
    /// The end of the connection.
    case end
    /// A head, half a body, and one of the former, or a GOAWAY with a lower stream number (§6.8).
    case cutByIdleData, cutBySettings, cut, cutByGoAway

    var reply: Reply {
      let half = [HTTP2Frame(1, flags: 4, stream: nil, payload: Data([0x88])), data("half", stream: nil)]
      let idle = data("x", stream: 101)
      let settings = HTTP2Frame(4, payload: Data("xxx".utf8))
      return switch self {
      case .idleData: .hangUp.sendingFrames([idle])
      case .badSettings: .hangUp.sendingFrames([settings])
      case .end: .hangUp
      case .cutByIdleData: .hangUp.sendingFrames(half + [idle])
      case .cutBySettings: .hangUp.sendingFrames(half + [settings])
      case .cut: .hangUp.sendingFrames(half)
      // the last stream is that of the first request
      case .cutByGoAway:
        .hangUp.sendingFrames(half + [HTTP2Frame(7, payload: Data([0, 0, 0, 1, 0, 0, 0, 0]))])
          .stalled(after: 0)
      }
    }

    private func data(_ text: String, stream: UInt32?) -> HTTP2Frame {
      HTTP2Frame(0, stream: stream, payload: Data(text.utf8))
    }
  }

  /// A server with a reply to the second request of its first connection. It answers the others with the number of
  /// requests so far.
  private func server(_ second: Reply) throws -> LoopbackServer {
    let count = Atomic(0)
    return try LoopbackServer(tls: .selfSigned) { request in
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      return number == 2 && request.connection == 1 ? second : .text("\(number)")
    }
  }

  /// A server whose responses have no length. They are the number of requests so far.
  private func serverWithoutLengths(tls: Bool) throws -> LoopbackServer {
    let count = Atomic(0)
    let respond: LoopbackServer.Responder = { _ in
      .text("\(count.wrappingAdd(1, ordering: .relaxed).newValue)").chunked()
    }
    return tls ? try LoopbackServer(tls: .selfSigned, respond: respond) : try LoopbackServer(respond: respond)
  }

  private func session(
    trusting authority: URL?, _ versions: ConnectionConfiguration.Versions = .automatic,
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> HTTPSession {
    var connection = ConnectionConfiguration()
    change(&connection)
    connection.tls.authorities = authority
    connection.versions = versions
    var configuration = SessionConfiguration()
    configuration.options.retryPolicy = .never
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func post(_ url: URL, _ session: HTTPSession) async throws(HTTPError) -> String {
    let request = HTTPRequest(.post, url, body: .data(Data("order".utf8)))
    return String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  private func failure(_ url: URL, _ session: HTTPSession) async -> HTTPError? {
    do throws(HTTPError) {
      _ = try await post(url, session)
      return nil
    } catch { return error }
  }

  /// Returns the number of requests that the server has received, including this one.
  private func count(_ url: URL, _ session: HTTPSession) async throws -> Int? {
    var request = HTTPRequest(.get, url)
    request.options.cachePolicy = .reloadIgnoringCacheData
    return Int(String(decoding: try await session.data(for: request).0, as: UTF8.self))
  }

  @Test(arguments: [Fault.idleData, .badSettings, .end])
  func aPostOverAFailingConnectionIsSentOnce(_ fault: Fault) async throws {
    let server = try server(fault.reply)
    let session = session(trusting: server.authority?.file)
    #expect(try await post(server.url, session) == "1")

    let error = await failure(server.url, session)

    #expect(error?.isUnsent == false)
    #expect(error?.delivery != .refused)
    #expect(try await count(server.url, session) == 3)
  }

  @Test func aPostRefusedByAGoAwayHasTheDeliveryRefused() async throws {
    let server = try server(.goAway())
    let session = session(trusting: server.authority?.file)
    _ = try await post(server.url, session)

    let error = await failure(server.url, session)

    #expect(error?.delivery == .refused)
  }

  @Test func aRefusedPostIsSentAgainByTheSessionOnly() async throws {
    let server = try server(.streamReset(7))
    let session = session(trusting: server.authority?.file)
    _ = try await post(server.url, session)

    let error = await failure(server.url, session)

    #expect(error?.kind == .connectionLost)
    #expect(try await count(server.url, session) == 3)
  }

  @Test(arguments: [Fault.cutByIdleData, .cutBySettings, .cutByGoAway, .cut])
  func aResponseWithoutLengthThatIsCutOffIsAnError(_ fault: Fault) async throws {
    let server = try server(fault.reply)
    let session = session(trusting: server.authority?.file)
    _ = try await post(server.url, session)

    let error = await failure(server.url, session)

    #expect(error?.kind == .connectionLost)
    #expect(error?.phase == .receiving)
  }

  /// A body in chunks has no length over HTTP/2.
  @Test(arguments: [Reply.text("whole").chunked(), .text("whole").chunked().goingAway(after: 0)])
  func aResponseWithoutLengthThatEndsIsComplete(_ reply: Reply) async throws {
    let server = try server(reply)
    let session = session(trusting: server.authority?.file)
    _ = try await post(server.url, session)

    #expect(try await post(server.url, session) == "whole")
    #expect(try await post(server.url, session) == "3")
  }

  /// RFC 9113 §8.1: "Clients MUST NOT discard responses as a result of receiving such a RST_STREAM".
  @Test(arguments: [FrameServer.Fault.early, .earlyAtOnce])
  func aResponseIsReturnedIfTheServerDoesNotReadTheRequestsBody(_ fault: FrameServer.Fault) async throws {
    let server = try FrameServer(fault)
    let session = session(trusting: server.authority.certificate)
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
    let server = try serverWithoutLengths(tls: tls)
    let session = session(trusting: server.authority?.file, tls ? .automatic : .http2PriorKnowledge) {
      $0.idleLifetime = .zero
    }
    for number in 1...3 { #expect(try await post(server.url, session) == "\(number)") }
  }

  /// With a limit of one connection, each request evicts the connection of the previous one.
  @Test func aResponseWithoutLengthIsCompleteIfItsConnectionIsEvicted() async throws {
    let server = try serverWithoutLengths(tls: false)
    let session = session(trusting: nil, .http2PriorKnowledge) { $0.connectionLimitPerHost = 1 }
    await withTaskGroup(of: HTTPError?.self) { group in
      for _ in 0..<100 { group.addTask { await failure(server.url, session) } }
      for await error in group { #expect(error == nil) }
    }
  }

  @Test func aTooLargeHeadHasItsOwnKind() async throws {
    let server = try FrameServer(.largeHead)
    let session = session(trusting: server.authority.certificate)
    _ = try await post(server.url, session)

    var request = HTTPRequest(.get, server.url)
    request.options.headLimit = 150_000
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    #expect(error?.kind == .headTooLarge)
    #expect(try await count(server.url, session) == 3)
  }

  @Test func http2PriorKnowledgeSendsSeveralPosts() async throws {
    let server = try serverWithoutLengths(tls: false)
    let session = session(trusting: nil, .http2PriorKnowledge)
    for number in 1...20 { #expect(try await post(server.url, session) == "\(number)") }
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<20 { group.addTask { (try? await self.post(server.url, session)) != nil } }
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
