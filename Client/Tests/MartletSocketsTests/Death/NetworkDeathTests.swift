#if os(Linux)
import MartletEngine
import MartletSemantics
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The promise for a network failure: one dead connection costs at most the requests that were on it, and the next
/// request succeeds within one of its own timeouts.
@Suite(.timeLimit(.minutes(5)))
struct NetworkDeathTests {
  /// How a connection is made and how it dies.
  struct Row: Sendable, CustomTestStringConvertible {
    var death: DyingServer.Death
    var moment: DyingServer.Moment
    var isHTTP2: Bool
    var tls: Bool
    var leavesFirstOpen = false

    var testDescription: String {
      "\(isHTTP2 ? "HTTP/2" : "HTTP/1.1")\(tls ? ", TLS" : ""), \(death) \(moment)\(leavesFirstOpen ? ", beside a stream" : "")"
    }

    static let all = DyingServer.Death.allCases.flatMap { death in
      DyingServer.Moment.allCases.flatMap { moment in
        [(false, false), (false, true), (true, false), (true, true)].map { isHTTP2, tls in
          Row(death: death, moment: moment, isHTTP2: isHTTP2, tls: tls)
        }
      }
    }

    static let besideAStream = DyingServer.Death.allCases.flatMap { death in
      [DyingServer.Moment.betweenRequests, .beforeTheHead, .inTheUpload].map { moment in
        Row(death: death, moment: moment, isHTTP2: true, tls: false, leavesFirstOpen: true)
      }
    }

    func server() throws -> DyingServer {
      try DyingServer(death, moment, isHTTP2: isHTTP2, tls: tls, leavesFirstOpen: leavesFirstOpen)
    }
  }

  /// Sessions without retries whose connections are probed soon.
  private func session(
    to server: DyingServer, _ row: Row, _ change: (inout SocketTransport.Options) -> Void = { _ in }
  ) -> HTTPSession {
    HTTPSession(transport: transport(to: server, row, change), configuration: configuration)
  }

  private var configuration: SessionConfiguration {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.options.retryPolicy = .never
    return configuration
  }

  private func transport(
    to server: DyingServer, _ row: Row, _ change: (inout SocketTransport.Options) -> Void
  ) -> SocketTransport {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.tls.authorities = server.authority.certificate
    if row.isHTTP2 && !row.tls { connection.versions = .http2PriorKnowledge }
    var options = SocketTransport.Options()
    options.probePatience = .milliseconds(50)
    options.probeTimeout = .milliseconds(200)
    change(&options)
    return SocketTransport(connection, options: options)
  }

  /// The request that may die with the connection, or one that has enough time.
  private func request(_ row: Row, _ server: DyingServer, dying: Bool) -> HTTPRequest {
    let uploads = dying && row.moment == .inTheUpload
    var request = HTTPRequest(
      uploads ? .post : .get, server.url, body: uploads ? .data(Data(count: 4 << 20)) : .empty)
    request.options.responseTimeout = dying ? .milliseconds(300) : .seconds(120)
    request.options.idleTimeout = request.options.responseTimeout
    return request
  }

  private func text(_ session: HTTPSession, _ request: HTTPRequest) async throws(HTTPError) -> String {
    String(decoding: try await session.data(for: request).0, as: UTF8.self)
  }

  private func failure(_ session: HTTPSession, _ request: HTTPRequest) async -> HTTPError? {
    do throws(HTTPError) { _ = try await text(session, request) } catch { return error }
    return nil
  }

  @Test(arguments: Row.all)
  func theNextRequestSucceeds(_ row: Row) async throws {
    let server = try row.server()
    let session = session(to: server, row)
    #expect(try await text(session, request(row, server, dying: false)) == "1")
    server.endFirstConnection()

    let failure = await failure(session, request(row, server, dying: true))
    #expect(failure != nil || row.moment == .betweenRequests)

    #expect(try await text(session, request(row, server, dying: false)) != "1")
  }

  /// How a request on a dead connection ends.
  enum Ending: CaseIterable {
    case timeout, deadline, cancellation, hedge, closing
  }

  /// However it ends, the dead connection costs this request only.
  @Test(arguments: Ending.allCases, [DyingServer.Death.freezes, .vanishes])
  func theNextRequestSucceedsHoweverTheLastOneEnded(_ ending: Ending, _ death: DyingServer.Death) async throws {
    let row = Row(death: death, moment: .betweenRequests, isHTTP2: true, tls: false)
    let server = try row.server()
    // the connection is suspicious as soon as a request ends without a byte
    let transport = transport(to: server, row) { $0.probePatience = .zero }
    let plain = HTTPSession(transport: transport, configuration: configuration)
    var hedging = configuration
    hedging.limits.hedging = Hedging()
    hedging.limits.hedging?.minimumCount = 1
    let hedged = HTTPSession(transport: transport, configuration: hedging)
    let closable = ClosableSession(transport: transport, configuration: configuration)
    #expect(try await text(ending == .hedge ? hedged : plain, request(row, server, dying: false)) == "1")
    server.endFirstConnection()

    var doomed = request(row, server, dying: ending == .timeout)
    if ending == .deadline || ending == .hedge { doomed.options.deadline = .milliseconds(300) }
    let used = ending == .hedge ? hedged : ending == .closing ? closable.session : plain
    let call = Task { [doomed] in await failure(used, doomed) != nil }
    if ending == .cancellation || ending == .closing {
      try await until { await transport.statistics().values.contains { $0.active == 1 } }
    }
    if ending == .cancellation { call.cancel() }
    if ending == .closing { await closable.close(within: .zero) }
    #expect(await call.value)

    #expect(try await text(plain, request(row, server, dying: false)) == "2")
  }

  /// With a stream that stays open, the connection is in use and never idle.
  @Test(arguments: Row.besideAStream)
  func theNextRequestSucceedsBesideAnOpenStream(_ row: Row) async throws {
    let server = try row.server()
    let session = session(to: server, row)
    var endless = request(row, server, dying: false)
    endless.options.idleTimeout = nil
    let (stream, _) = try await session.bytes(for: endless)
    var chunks = stream.makeAsyncIterator()
    #expect(try await chunks.next().map { String(decoding: $0, as: UTF8.self) } == "1")
    server.endFirstConnection()

    _ = try? await text(session, request(row, server, dying: true))

    #expect(try await text(session, request(row, server, dying: false)) != "1")
    // the stream was on the connection: its reader is informed of the loss, although it has no timeout
    var loss: HTTPError?
    do throws(HTTPError) { while try await chunks.next() != nil {} } catch { loss = error }
    #expect(loss?.kind == .connectionLost)
  }

  @Test(arguments: [DyingServer.Death.freezes, .vanishes])
  func aRetryDoesNotGoOverTheDeadConnection(_ death: DyingServer.Death) async throws {
    let row = Row(death: death, moment: .betweenRequests, isHTTP2: true, tls: false, leavesFirstOpen: true)
    let server = try row.server()
    let session = session(to: server, row)
    var endless = request(row, server, dying: false)
    endless.options.idleTimeout = nil
    let (stream, _) = try await session.bytes(for: endless)
    server.endFirstConnection()
    var retried = request(row, server, dying: false)
    retried.options.responseTimeout = .seconds(1)
    retried.options.retryPolicy = RetryPolicy(limit: 8)
    retried.options.retryPolicy.failures.insert(.responseTimeout)
    retried.options.retryPolicy.random = { 0 }

    #expect(try await text(session, retried) != "1")
    stream.cancel()
  }

  /// Timeouts that are shorter than a probe must not begin it again each time.
  @Test(arguments: [DyingServer.Death.freezes, .vanishes])
  func aDeadIdleConnectionIsReplacedAlthoughItsRequestsEndEarly(_ death: DyingServer.Death) async throws {
    let row = Row(death: death, moment: .betweenRequests, isHTTP2: true, tls: false)
    let server = try row.server()
    let session = session(to: server, row) { options in
      options.silenceLimit = .zero
      options.probePatience = .milliseconds(400)
      options.probeTimeout = .milliseconds(400)
    }
    #expect(try await text(session, request(row, server, dying: false)) == "1")
    server.endFirstConnection()

    var impatient = request(row, server, dying: false)
    impatient.options.responseTimeout = .milliseconds(100)
    var answer: String?
    for _ in 0..<200 where answer == nil { answer = try? await text(session, impatient) }

    #expect(answer != nil && answer != "1")
  }

  @Test func requestsOfAnIdleConnectionThatDiedLoseNothing() async throws {
    let row = Row(death: .freezes, moment: .betweenRequests, isHTTP2: true, tls: true)
    let server = try row.server()
    let session = session(to: server, row) { $0.silenceLimit = .zero }
    #expect(try await text(session, request(row, server, dying: false)) == "1")
    server.endFirstConnection()
    // a POST is not repeated: it was not sent over the first connection
    let post = HTTPRequest(.post, server.url, body: .data(Data("a".utf8)))
    #expect(try await text(session, post) == "2")
  }

  /// HTTP/1.1 has no PING; the system probes the connection of a host that has disappeared.
  @Test func aStreamWithoutTimeoutsEndsWhenItsHostIsGone() async throws {
    let row = Row(death: .vanishes, moment: .inTheBody, isHTTP2: false, tls: false)
    let server = try row.server()
    let session = session(to: server, row) { $0.acknowledgementTimeout = .seconds(1) }
    #expect(try await text(session, request(row, server, dying: false)) == "1")
    server.endFirstConnection()
    var endless = request(row, server, dying: false)
    endless.options.responseTimeout = .seconds(1)  // a longer one is also the server's time to acknowledge
    endless.options.idleTimeout = nil
    #expect(await failure(session, endless)?.kind == .connectionLost)
  }

  /// An event stream has no idle timeout: PINGs find a connection that died.
  @Test(arguments: [DyingServer.Death.freezes, .vanishes])
  func pingsFindTheDeadConnectionOfASilentStream(_ death: DyingServer.Death) async throws {
    let row = Row(death: death, moment: .inTheBody, isHTTP2: true, tls: true)
    let server = try row.server()
    let session = session(to: server, row)
    #expect(try await text(session, request(row, server, dying: false)) == "1")
    server.endFirstConnection()
    var endless = request(row, server, dying: false)
    endless.options.idleTimeout = nil
    endless.options.responseTimeout = nil
    endless.options.pingInterval = .milliseconds(50)
    #expect(await failure(session, endless)?.kind == .connectionLost)
  }

  @Test func aSilentStreamOfALivingServerOutlivesItsPings() async throws {
    let row = Row(death: .freezes, moment: .inTheUpload, isHTTP2: true, tls: false, leavesFirstOpen: true)
    let server = try row.server()
    let session = session(to: server, row) { options in
      options.probePatience = .seconds(100)
      options.probeTimeout = .seconds(100)
    }
    var endless = request(row, server, dying: false)
    endless.options.idleTimeout = .seconds(1)
    endless.options.pingInterval = .milliseconds(20)
    // the time limit of the stream ends it, after many PINGs
    #expect(await failure(session, endless)?.kind == .idleTimeout)
    #expect(try await text(session, request(row, server, dying: false)) == "1")
  }
}
#endif
