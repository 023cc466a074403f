#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import Testing

@testable import MartletSockets

/// New connections over HTTP/2 that begin badly: before the server's SETTINGS, or with a GOAWAY.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2StartTests {
  private func session(_ transport: SocketTransport, retries: Int = 0) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.options.retryPolicy = RetryPolicy(limit: retries)
    configuration.options.retryPolicy.backoff = Backoff(base: .zero)
    configuration.options.responseTimeout = .seconds(120)
    return HTTPSession(transport: transport, configuration: configuration)
  }

  private func text(_ session: HTTPSession, _ request: HTTPRequest) async throws -> String {
    String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  private func opened(_ transport: SocketTransport) async -> Int {
    await transport.statistics().values.reduce(0) { $0 + $1.opened }
  }

  /// The server ends a connection with more than its 20 streams (hypercorn does).
  @Test(arguments: [true, false])
  func manyRequestsAtOnceAreAnsweredByAServerThatAllowsFewStreams(tls: Bool) async throws {
    let server = try FrameServer(.fewStreams, tls: tls)
    let transport = SocketTransport(
      .trusting(server.authority) { configuration in
        configuration.connectionLimitPerHost = 1
        if !tls { configuration.versions = .http2PriorKnowledge }
      })
    let session = session(transport)

    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<40 { group.addTask { try await text(session, HTTPRequest(.post, server.url)) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(texts == Array(repeating: "ok", count: 40))
    #expect(await opened(transport) == 1)
  }

  @Test func aConnectionThatIsLostBeforeTheSettingsIsReplaced() async throws {
    let server = try FrameServer(.noSettings)
    let transport = SocketTransport(.trusting(server.authority))
    #expect(try await text(session(transport), HTTPRequest(.get, server.url)) == "1")
    #expect(await opened(transport) == 2)
  }

  /// It is not known whether the server has acted on it.
  @Test func aPostOverAConnectionThatIsLostBeforeTheSettingsIsNotRepeated() async throws {
    let server = try FrameServer(.noSettings)
    let session = session(SocketTransport(.trusting(server.authority)))
    let error = await #expect(throws: HTTPError.self) { try await text(session, HTTPRequest(.post, server.url)) }
    #expect(error?.kind == .connectionLost)
    #expect(error?.delivery == .unknown)
  }

  /// One bound for the transport's and the loop's replacements: the first connection, five others, and the retries. The
  /// codes of the GOAWAY are NO_ERROR and ENHANCE_YOUR_CALM (RFC 9113 §7).
  @Test(arguments: [(UInt32(0), 0, 6), (0, 2, 8), (11, 0, 1), (11, 2, 3)])
  func aServerThatRefusesEachRequestGetsFewConnections(_ code: UInt32, retries: Int, connections: Int) async throws {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .goAway(code) }
    let transport = SocketTransport(.trusting(server))
    let session = session(transport, retries: retries)

    let error = await #expect(throws: HTTPError.self) { try await text(session, HTTPRequest(.get, server.url)) }

    #expect(error?.delivery == .refused)
    #expect(await opened(transport) == connections)
    #expect(server.requests.map(\.connection) == Array(1...connections))
  }

  /// The server has processed a request on the connection, so it has nothing against another connection: Tomcat does
  /// so after a long body that it did not read.
  @Test func aRequestIsSentOnceMoreAfterAServerHadEnoughOfAConnection() async throws {
    let count = Atomic(0)
    let server = try LoopbackServer(tls: .selfSigned) { _ in
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      return number == 2 ? .goAway(11) : .text("\(number)")
    }
    let transport = SocketTransport(.trusting(server))
    let session = session(transport)
    for number in ["1", "3"] { #expect(try await text(session, HTTPRequest(.post, server.url)) == number) }
    #expect(await opened(transport) == 2)
  }

  /// RFC 9113 §7; curl 22923.
  @Test func aGoAwayThatRequiresHTTP1IsFollowedByHTTP1() async throws {
    let server = try LoopbackServer(tls: .selfSigned) { $0.version == .http2 ? .goAway(13) : .text("1.1") }
    let transport = SocketTransport(.trusting(server))
    let session = session(transport)
    for _ in 0..<2 { #expect(try await text(session, HTTPRequest(.post, server.url)) == "1.1") }
    #expect(await opened(transport) == 2)
  }
}
#endif
