import Glibc
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5)))
struct PooledConnectionTests {
  private func session(_ change: (inout ConnectionConfiguration) -> Void = { _ in }) -> HTTPSession {
    var configuration = ConnectionConfiguration()
    change(&configuration)
    return HTTPSession.uncached(configuration)
  }

  @Test func requestsInSequenceShareOneConnection() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session()
    for _ in 0..<20 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect(server.connectionCount == 1)
  }

  @Test(arguments: [Duration.zero, .milliseconds(500), .seconds(-1)])
  func anIdleLifetimeBelowASecondReusesNoConnection(_ lifetime: Duration) async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session { $0.idleLifetime = lifetime }
    for _ in 0..<3 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
    #expect(server.connectionCount == 3)
  }

  @Test func chunksInHTTP1_0EndTheirConnectionWhateverItSays() async throws {
    let server = try LoopbackServer { _ in
      let head = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
      var reply = Reply.raw(head + "5\r\nhello\r\n0\r\n\r\n")
      reply.ending = .keepAlive
      return reply
    }
    let session = session()
    for _ in 0..<2 { #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Data("hello".utf8)) }
    #expect(server.connectionCount == 2)
  }

  @Test func childProcessesInheritNoConnection() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session()
    _ = try await session.data(for: HTTPRequest(.get, server.url))

    let connections = openConnections(to: server.port)

    #expect(connections.count == 1)
    #expect(connections.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
  }

  @Test func connectionsToAHostAreLimited() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session { $0.connectionLimitPerHost = 3 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<60 {
        group.addTask { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
      }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 60)
    #expect(server.connectionCount <= 3)
  }

  @Test func connectionsToAHostAreNotLimitedIfTheLimitIsNil() async throws {
    let gate = Gate()
    let server = try LoopbackServer { _ in .text("hello").held(by: gate) }
    let session = session { $0.connectionLimitPerHost = nil }
    let tasks = (0..<70).map { _ in Task { try await session.data(for: HTTPRequest(.get, server.url)).0 } }

    _ = try await server.request(70)
    gate.open()

    for task in tasks { #expect(try await task.value == Data("hello".utf8)) }
    #expect(server.connectionCount == 70)
  }

  @Test func aSmallUnreadBodyLeavesTheConnectionUsable() async throws {
    let server = try LoopbackServer { request in
      request.path == "/old" ? .redirect(to: "/new") : .text("here")
    }
    let session = session()
    for _ in 0..<5 { _ = try await session.data(for: HTTPRequest(.get, server.url("/old"))) }
    #expect(server.requests.count == 10)
    #expect(server.connectionCount == 1)
  }

  @Test func aConnectionClosedByTheServerIsReplacedWithoutAnError() async throws {
    let server = try LoopbackServer { _ in .text("hello").closingSilently() }
    let session = session()
    for number in 1...5 {
      _ = try await session.data(for: HTTPRequest(.get, server.url))
      _ = try await server.end(ofConnection: number)
    }
    #expect(server.requests.count == 5)
  }

  @Test func releasingTheTransportClosesItsConnections() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    func call() async throws -> HTTPStatus { try await session().data(for: HTTPRequest(.get, server.url)).1.status }
    #expect(try await call() == .ok)
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  @Test func aBodyOutlivesItsSession() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("0123456789".utf8), length: 5_000_000) }
    let (body, _) = try await session().bytes(for: HTTPRequest(.get, server.url))
    #expect(try await body.collect(upTo: 10_000_000).count == 5_000_000)
  }

  @Test func aReaderThatDoesNotReadPausesTheSender() async throws {
    let produced = Mutex<Int64>(0)
    let total: Int64 = 64 << 20
    let server = try LoopbackServer { _ in
      .generated(length: total) { offset in
        guard offset < total else { return nil }
        produced.withLock { $0 = max($0, offset) }
        return Data(count: 64 << 10)
      }
    }
    let session = session { $0.readAhead = 256 << 10 }

    let (body, _) = try await session.bytes(for: HTTPRequest(.get, server.url("/long")))
    var iterator = body.makeAsyncIterator()
    var count = Int64(try await iterator.next()?.count ?? 0)
    // other requests use the same loop in the meantime, so the sender had time to continue
    for _ in 0..<200 { _ = try await session.data(for: HTTPRequest(.head, server.url("/"))) }
    let whileWaiting = produced.withLock { $0 }
    while let chunk = try await iterator.next() { count += Int64(chunk.count) }

    #expect(whileWaiting < 24 << 20)  // the content of the read-ahead and the sockets' buffers
    #expect(count == total)
  }

  @Test func headersBeyondTheirLimitAreRefused() async throws {
    let server = try LoopbackServer { _ in
      .text("hello").with("X-Long", String(repeating: "x", count: 10_000))
    }
    var request = HTTPRequest(.get, server.url)
    request.options.headLimit = 5_000
    let error = await #expect(throws: HTTPError.self) { try await session().data(for: request) }
    #expect(error?.kind == .headTooLarge)
    #expect(error?.message.contains("5000") == true)
  }

  @Test func trailersComeWithTheEndOfTheBody() async throws {
    let server = try LoopbackServer { _ in .text("hello").chunked().with(trailer: "X-Checksum", "abc") }
    let (body, response) = try await session().bytes(for: HTTPRequest(.get, server.url))
    _ = try await body.collect(upTo: 10)
    #expect(response.trailers["X-Checksum"] == "abc")
    #expect(response.fields["X-Checksum"] == nil)
  }

  @Test func http2IsUsedWithoutTLSIfTheServerIsKnownToSupportIt() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let (data, response) = try await session { $0.versions = .http2PriorKnowledge }.data(
      for: HTTPRequest(.get, server.url))
    #expect(response.head.version == .http2 && data == Data("hello".utf8))
  }

  @Test func hostsThatNeedNameResolutionAreConnectedTo() async throws {
    // the resolver's pipe and the connection share a descriptor's number; a thread resolves the names with /etc/hosts
    let server = try LoopbackServer { request in .text(request.path) }
    var names = [UInt8](repeating: 0, count: 256)
    try #require(gethostname(&names, names.count) == 0)
    let host = String(decoding: names.prefix { $0 != 0 }, as: UTF8.self)
    let session = session()
    for name in ["localhost", host] {
      for number in 1...3 {
        // the machine's name may be the address of another interface, on which no server listens
        let outcome = await path(of: "http://\(name):\(server.port)/\(number)", through: session)
        #expect(outcome == "/\(number)" || name == host && outcome.hasPrefix("cannot"), "\(outcome)")
      }
    }
    #expect(server.requests.count >= 3)
  }

  private func path(of text: String, through session: HTTPSession) async -> String {
    guard let url = URL(string: text) else { return "no URL" }
    var request = HTTPRequest(.get, url)
    request.options.responseTimeout = .seconds(20)
    do {
      let (data, _) = try await session.data(for: request)
      return String(decoding: data, as: UTF8.self)
    } catch { return error.kind.name }
  }

  @Test func aCancelledReadIsNeverASuccess() async throws {
    let length = 4 << 20
    let server = try LoopbackServer(recording: .nothing) { _ in
      .repeating(Data("0123456789abcdef".utf8), length: Int64(length))
    }
    let session = session()
    let outcomes = await withTaskGroup(of: Bool.self, returning: [Bool].self) { group in
      for number in 0..<300 {
        group.addTask {
          let call = Task { try await session.data(for: HTTPRequest(.get, server.url)).0.count }
          let canceller = Task {
            // This only spreads the cancellations over the reads: the expectation is for each of them, whatever its
            // position.
            for _ in 0..<(number * 7 % 200) { await Task.yield() }
            call.cancel()
          }
          defer { canceller.cancel() }
          switch await call.result {
          case .success(let count): return count == length
          case .failure: return true
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(outcomes.allSatisfy { $0 })
  }

  @Test func a417ThatTheTransportRepeatsIsNotTheResponse() async throws {
    let count = Mutex(0)
    let server = try LoopbackServer(bodies: .streamed) { request in
      let number = count.withLock { count in
        count += 1
        return count
      }
      if number == 1 { return .text("first", status: .expectationFailed).closing() }
      _ = try request.drainBody()
      return .text("second")
    }
    let body = RequestBody.data(Data(count: 2_000_000))
    let (data, response) = try await session()
      .data(for: HTTPRequest(.post, server.url, fields: [.expect: "100-continue"], body: body))

    #expect(response.status == (data == Data("second".utf8) ? .ok : .expectationFailed))
  }

  @Test func aBodyThatFailsAtItsStartFailsTheRequest() async throws {
    struct Broken: Error {}
    let server = try LoopbackServer { _ in .text("never") }
    let session = session()
    for _ in 0..<50 {
      let chunks = AsyncThrowingStream<Data, any Error> { $0.finish(throwing: Broken()) }
      let error = await #expect(throws: HTTPError.self) {
        try await session.data(for: HTTPRequest(.post, server.url, body: .singleUse(chunks)))
      }
      #expect(error?.underlying is Broken, "\(String(describing: error))")
    }
  }

  @Test func twoThousandRequestsUseAtMostSixtyFourConnections() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let session = session()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2_000 {
        group.addTask { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
      }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 2_000)
    #expect(server.connectionCount <= 64)
  }
}
