import Martlet
import MartletTesting
import MartletWebSocket
import TestSupport
import Testing

/// Replies and faults over HTTP/2, and the same replies over all ways to a server.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2ServerTests {
  /// A way to a server.
  enum Way: String, CaseIterable, Sendable {
    case plainHTTP1, plainHTTP2, securedHTTP1, securedHTTP2

    var version: HTTPVersion { self == .plainHTTP1 || self == .securedHTTP1 ? .http1_1 : .http2 }

    func server(
      bodies: LoopbackServer.BodyReading = .collected(upTo: 1 << 20), respond: @escaping LoopbackServer.Responder
    ) throws -> LoopbackServer {
      guard self == .securedHTTP1 || self == .securedHTTP2 else {
        return try LoopbackServer(bodies: bodies, respond: respond)
      }
      return try LoopbackServer(tls: .selfSigned, bodies: bodies, respond: respond)
    }

    func session(_ server: LoopbackServer, _ change: (inout RequestOptions) -> Void = { _ in }) -> HTTPSession {
      var connection = ConnectionConfiguration()
      connection.proxy = .direct
      connection.tls.authorities = server.authority?.file
      connection.versions = version == .http1_1 ? .http1 : self == .plainHTTP2 ? .http2PriorKnowledge : .automatic
      var configuration = SessionConfiguration()
      change(&configuration.options)
      return HTTPSession(connection: connection, configuration: configuration)
    }
  }

  @Test(arguments: Way.allCases)
  func theSameRepliesGoEveryWay(way: Way) async throws {
    let server = try way.server { request in
      switch request.path {
      case "/empty": .status(.noContent)
      case "/chunks": .text("hello").chunked(size: 2).with(trailer: "X-Sum", "42").with(.setCookie, "a=1")
      case "/long": .repeating(Data("0123456789".utf8), length: 5_000_000)
      case "/early": .text("later").preceded(by: .earlyHints, fields: [.link: "</a>"])
      case "/until-close": .text("to the end").untilClose()
      default: .text("\(request.method) \(request.fields["x-tag"] ?? "") \(request.text)")
      }
    }
    let session = way.session(server)
    func get(_ path: String) -> HTTPRequest { HTTPRequest(.get, server.url(path)) }

    var request = HTTPRequest(.put, server.url("/echo"), fields: ["X-Tag": "a"], body: .text("body"))
    let (echo, response) = try await session.text(for: request)
    #expect(echo == "PUT a body")
    #expect(response.networkHead?.version == way.version)
    #expect(try await session.data(for: get("/empty")).1.status == .noContent)
    let (bytes, chunked) = try await session.bytes(for: get("/chunks"))
    #expect(try await bytes.collect(upTo: 100) == Data("hello".utf8))
    #expect(bytes.trailers["X-Sum"] == "42")
    #expect(chunked.fields[.setCookie] == "a=1")
    #expect(try await session.data(for: get("/long")).0.count == 5_000_000)
    #expect(try await session.text(for: get("/early")).0 == "later")
    #expect(try await session.text(for: get("/until-close")).0 == "to the end")
    request = HTTPRequest(.head, server.url("/long"))
    let head = try await session.data(for: request)
    #expect(head.0.isEmpty && head.1.fields[.contentLength] == "5000000")
    #expect(server.requests.map(\.method) == [.put, .get, .get, .get, .get, .get, .head])
  }

  @Test(arguments: Way.allCases)
  func theSameFaultsGoEveryWay(way: Way) async throws {
    let server = try way.server { request in
      switch request.path {
      case "/stalls": .text("hello").stalled(after: 2)
      case "/never": .never
      case "/truncated": .text("hello").truncated(after: 2)
      case "/reset": .reset
      case "/reset-later": .text("hello").reset(after: 2)
      case "/hang-up": .hangUp
      case "/nonsense": .raw("nonsense\r\n\r\n nonsense nonsense nonsense")
      case "/short": .text("hello").with(.contentLength, "7")
      default: .text("hello").with(.contentEncoding, "gzip")
      }
    }
    let kinds: [(String, Set<HTTPError.Kind>)] = [
      ("/stalls", [.idleTimeout]), ("/never", [.responseTimeout]), ("/truncated", [.connectionLost]),
      ("/reset", [.connectionLost]), ("/reset-later", [.connectionLost]), ("/hang-up", [.connectionLost]),
      ("/nonsense", [.protocolViolation]), ("/short", [.connectionLost, .protocolViolation]),
      ("/not-gzip", [.undecodableBody]),
    ]
    let session = way.session(server)
    for (path, expected) in kinds {
      var request = HTTPRequest(.get, server.url(path))
      request.options.idleTimeout = path == "/stalls" ? .milliseconds(100) : .seconds(60)
      request.options.responseTimeout = path == "/never" ? .milliseconds(100) : .seconds(60)
      await #expect("\(path)") { try await session.data(for: request) } throws: { error in
        (error as? HTTPError).map { expected.contains($0.kind) } == true
      }
    }
  }

  @Test(arguments: Way.allCases)
  func bodiesAreStreamedBothWays(way: Way) async throws {
    let server = try way.server(bodies: .streamed) { request in .text("\(try request.drainBody())") }
    let body = RequestBody.stream {
      AsyncStream<Data> { stream in
        for _ in 0..<50 { stream.yield(Data(count: 100_000)) }
        stream.finish()
      }
    }
    let request = HTTPRequest(.post, server.url("/"), body: body)
    #expect(try await way.session(server).text(for: request).0 == "5000000")
  }

  @Test(arguments: Way.allCases)
  func aClientMayWaitForTheServerToContinue(way: Way) async throws {
    let server = try way.server(bodies: .streamed) { request in
      request.path == "/refused" ? .text("no", status: .forbidden) : .text("\(try request.drainBody())")
    }
    let session = way.session(server) { $0.continueTimeout = .seconds(60) }
    for (path, answer) in [("/refused", "no"), ("/", "300000")] {
      let request = HTTPRequest(.post, server.url(path), body: .data(Data(count: 300_000)))
      #expect(try await session.text(for: request).0 == answer)
    }
  }

  @Test(arguments: Way.allCases)
  func aResponderMaySuspend(way: Way) async throws {
    let origin = try LoopbackServer { .text("from \($0.path)") }
    let forward = HTTPSession()
    let server = try way.server { request in
      let (data, response) = try await forward.data(for: HTTPRequest(.get, origin.url(request.path)))
      return Reply(status: response.status, content: data)
    }
    let session = way.session(server)
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for number in 0..<10 {
        group.addTask { try await session.text(for: HTTPRequest(.get, server.url("/\(number)"))).0 }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(texts == Set((0..<10).map { "from /\($0)" }))
  }

  @Test(arguments: Way.allCases)
  func aSuspendedResponderIsCancelledWhenItsClientIsGone(way: Way) async throws {
    let (begun, ended) = (Gate(), Gate())
    let server = try way.server { _ in
      begun.open()
      do { try await Task.sleep(for: .seconds(1000)) } catch { ended.open() }
      return .text("too late")
    }
    let session = way.session(server)
    let call = Task { try await session.data(for: HTTPRequest(.get, server.url("/"))) }
    try await begun.wait()
    call.cancel()
    try await ended.wait()
  }

  @Test(arguments: Way.allCases)
  func aWebSocketGoesEveryWay(way: Way) async throws {
    let server = try way.server { request in
      guard request.path == "/chat" else { return .text("a page") }
      return .webSocket { socket in
        while let message = try socket.receive() { try socket.send(message) }
      }
    }
    let session = way.session(server)
    // A WebSocket uses a connection of HTTP/2 only if there is one.
    let plain = try await session.data(for: HTTPRequest(.get, server.url("/"))).1
    #expect(plain.networkHead?.version == way.version)
    let socket = try await session.webSocket(for: HTTPRequest(.get, server.url("/chat")))
    try await socket.send(.string("hello"))
    #expect(try await socket.receive() == .string("hello"))
    try await socket.send(.data(Data(count: 300_000)))
    #expect(try await socket.receive() == .data(Data(count: 300_000)))
    await socket.close()
    #expect(server.connectionCount == (way.version == .http2 ? 1 : 2))
    #expect(server.requests.last?.version == way.version)
  }

  @Test(arguments: [Way.plainHTTP2, .securedHTTP2])
  func streamsOfAConnectionDoNotWaitForEachOther(way: Way) async throws {
    let gate = Gate()
    let server = try way.server { request in
      request.path == "/slow" ? .text("slow").held(by: gate) : .text("fast \(request.connection)")
    }
    let session = way.session(server)
    let slow = Task { try await session.text(for: HTTPRequest(.get, server.url("/slow"))).0 }
    _ = try await server.request(1)
    #expect(try await session.text(for: HTTPRequest(.get, server.url("/fast"))).0 == "fast 1")
    gate.open()
    #expect(try await slow.value == "slow")
    #expect(server.connectionCount == 1)
  }

  @Test func aStreamThatIsResetEndsAlone() async throws {
    let server = try Way.securedHTTP2.server { request in
      switch request.path {
      case "/refused": .streamReset(7)
      case "/cut": .text("hello").streamReset(2, after: 3)
      default: .text("\(request.connection)")
      }
    }
    let session = Way.securedHTTP2.session(server)
    func text(_ path: String) async throws -> String {
      try await session.text(for: HTTPRequest(.post, server.url(path))).0
    }
    #expect(try await text("/") == "1")
    await #expect(throws: HTTPError.self) { try await text("/refused") }
    await #expect { try await text("/cut") } throws: { ($0 as? HTTPError)?.kind == .connectionLost }
    #expect(try await text("/") == "1")
  }

  @Test func aGoAwayMovesRequestsToAnotherConnection() async throws {
    let server = try Way.securedHTTP2.server { request in
      request.path == "/gone" && request.connection == 1 ? .goAway() : .text("\(request.connection)")
    }
    let session = Way.securedHTTP2.session(server)
    #expect(try await session.text(for: HTTPRequest(.get, server.url("/"))).0 == "1")
    // Nothing of the request was processed, so it is sent again even though it is a POST.
    #expect(try await session.text(for: HTTPRequest(.post, server.url("/gone"))).0 == "2")
    try await server.end(ofConnection: 1)
  }

  @Test func aReplyContinuesAfterItsGoAway() async throws {
    let server = try Way.securedHTTP2.server { request in
      request.connection == 1 ? .text("hello").goingAway(after: 2) : .text("second")
    }
    let session = Way.securedHTTP2.session(server)
    #expect(try await session.text(for: HTTPRequest(.get, server.url("/"))).0 == "hello")
    try await server.end(ofConnection: 1)
    #expect(try await session.text(for: HTTPRequest(.get, server.url("/"))).0 == "second")
  }

  @Test(arguments: [
    Reply.text("hello").closing(), .text("hello").closingSilently(), .status(.ok).closing(),
    .status(.ok).closingSilently(),
  ])
  func aReplyThatEndsItsConnectionIsComplete(reply: Reply) async throws {
    let server = try Way.securedHTTP2.server { _ in reply }
    let session = Way.securedHTTP2.session(server)
    for number in 1...2 {
      let (data, response) = try await session.data(for: HTTPRequest(.get, server.url("/")))
      #expect(response.status == .ok && data.count == (reply.fields.contains(.contentType) ? 5 : 0))
      try await server.end(ofConnection: number)
    }
  }

  @Test(arguments: [HTTP2Frame.ping, .settings, .emptyData])
  func aClientEndsAFloodOfFrames(frame: HTTP2Frame) async throws {
    let server = try Way.securedHTTP2.server { _ in
      .text("hello").sendingFrames([frame], times: 1_000_000, after: 2)
    }
    let session = Way.securedHTTP2.session(server)
    await #expect { try await session.data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.message.contains("floods the connection") == true
    }
  }

  @Test func framesOfEveryKindCanBeSent() async throws {
    let server = try Way.securedHTTP2.server { _ in
      // DATA of a stream that does not exist (RFC 9113 §5.1).
      .text("hello").sendingFrames([HTTP2Frame(0, stream: 99, payload: Data("x".utf8))], after: 2)
    }
    let session = Way.securedHTTP2.session(server)
    await #expect { try await session.data(for: HTTPRequest(.get, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.message.contains("stream in idle") == true
    }
  }

  @Test(arguments: [
    (Reply.text("hello").streamReset(after: 2), LoopbackServer.ConnectionEnd.server), (.goAway(), .server),
    (.text("hello").sendingFrames([.ping], after: 2), .server),
  ])
  func overHTTP1FaultsOfStreamsEndTheConnection(reply: Reply, end: LoopbackServer.ConnectionEnd) async throws {
    let server = try Way.securedHTTP1.server { _ in reply }
    let session = Way.securedHTTP1.session(server)
    await #expect { try await session.data(for: HTTPRequest(.post, server.url("/"))) } throws: {
      ($0 as? HTTPError)?.kind == .connectionLost
    }
    #expect(try await server.end(ofConnection: 1) == end)
  }

  @Test(arguments: Way.allCases)
  func aServerThatStopsEndsItsCalls(way: Way) async throws {
    let server = try way.server { _ in .text("hello").stalled(after: 2) }
    let session = way.session(server)
    let call = Task { try await session.data(for: HTTPRequest(.get, server.url("/"))) }
    _ = try await server.request(1)
    server.stop()
    await #expect(throws: HTTPError.self) { try await call.value }
    #expect(try await server.end(ofConnection: 1) == .server)
  }

  /// Other clients' handshakes differ from ours: test servers of others hang with them.
  @Test(arguments: [
    ["--http2", "--data", "hello"], ["--http1.1", "--data", "hello"],
    ["--http2", "--data", "hello", "--expect100-timeout", "5", "-H", "Expect: 100-continue"],
  ])
  func curlIsServedToo(options: [String]) throws {
    let server = try LoopbackServer(tls: .selfSigned) { .text("\($0.version) \($0.text)") }
    let file = try #require(server.authority?.file.path)
    let curl = try ChildProcess(
      "curl", ["--silent", "--show-error", "--cacert", file] + options + [server.url("/").absoluteString],
      output: .readWithErrors)
    let version = options.contains("--http2") ? "HTTP/2" : "HTTP/1.1"
    #expect(String(decoding: curl.readToEnd(), as: UTF8.self) == "\(version) hello")
    #expect(curl.succeeds())
  }

  @Test func curlBeginsWithHTTP2WithoutTLS() throws {
    let server = try LoopbackServer { .text("\($0.version) \($0.text)") }
    for (option, version) in [("--http2-prior-knowledge", "HTTP/2"), ("--http2", "HTTP/1.1")] {
      let curl = try ChildProcess(
        "curl", ["--silent", "--show-error", option, "--data", "hello", server.url("/").absoluteString],
        output: .readWithErrors)
      #expect(String(decoding: curl.readToEnd(), as: UTF8.self) == "\(version) hello", "\(option)")
      #expect(curl.succeeds())
    }
  }

  @Test(arguments: Way.allCases)
  func aBodyThatIsTooLargeIsRefused(way: Way) async throws {
    let server = try way.server(bodies: .collected(upTo: 1000)) { _ in .text("never") }
    let request = HTTPRequest(.post, server.url("/"), body: .data(Data(count: 2000)))
    #expect(try await way.session(server).data(for: request).1.status == .contentTooLarge)
  }

  @Test(arguments: Way.allCases)
  func cookiesAndOtherFieldsArriveAsTheyWereSent(way: Way) async throws {
    let server = try way.server { .text($0.fields[.cookie] ?? "") }
    let session = way.session(server)
    let request = HTTPRequest(
      .get, server.url("/"), fields: [.cookie: "a=1; b=2", "X-List": "1, 2", "X-List": "3"])
    #expect(try await session.text(for: request).0 == "a=1; b=2")
    #expect(server.requests.first?.fields[values: "X-List"] == ["1, 2", "3"])
  }
}
