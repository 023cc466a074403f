import Foundation
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSockets
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@_spi(Toolkit) @_spi(Transports) @testable import MartletWebSocket

/// The opening handshake as a call of a session.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketOpeningTests {
  private let session = session()

  private static func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> HTTPSession {
    var configuration = SessionConfiguration()
    change(&configuration)
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private static let greeting = Reply.webSocket { socket in
    try socket.send(.string("welcome"))
    try socket.close()
  }

  private func url(_ server: LoopbackServer, _ path: String = "/", scheme: String = "ws") -> String {
    "\(scheme)://127.0.0.1:\(server.port)\(path)"
  }

  private func key(of request: ReceivedRequest) -> String? { request.fields["Sec-WebSocket-Key"] }

  private func expectGreeting(_ socket: WebSocket) async throws {
    #expect(try await socket.receive() == .string("welcome"))
    await socket.close()
  }

  // MARK: - URLs

  @Test func aURLIsRelativeToTheSessionsBase() async throws {
    let server = try LoopbackServer { _ in Self.greeting }
    for scheme in ["ws", "http"] {
      let session = Self.session { $0.baseURL = URL(string: url(server, "/v1", scheme: scheme)) }
      try await expectGreeting(session.webSocket(for: HTTPRequest(.get, "chat?room=1")))
    }
    #expect(server.requests.map(\.target) == ["/v1/chat?room=1", "/v1/chat?room=1"])
  }

  @Test func theCallersConnectionFieldIsNotSent() async throws {
    let server = try LoopbackServer { _ in Self.greeting }
    let request = HTTPRequest(.get, URL(string: url(server)) ?? server.url, fields: [.connection: "close"])
    try await expectGreeting(session.webSocket(for: request))
    #expect(server.requests.first?.fields[values: .connection] == ["Upgrade"])
  }

  @Test func aWebSocketURLIsNotARequestsURL() async throws {
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, "wss://a.example/"))
    }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("webSocket(for:)") == true)
  }

  @Test(arguments: ["ftp://a.example/", "wss://", "ws://a.example:99999/", "wss://a\\b/"])
  func anotherURLIsRefused(_ url: String) async {
    let error = await #expect(throws: HTTPError.self) { try await session.webSocket(for: HTTPRequest(.get, url)) }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func onlyAGetWithoutABodyOpens() async {
    for request in [HTTPRequest(.post, "ws://a.example/"), HTTPRequest(.get, "ws://a.example/", body: .text("a"))] {
      let error = await #expect(throws: HTTPError.self) { try await session.webSocket(for: request) }
      #expect(error?.kind == .invalidRequest)
    }
  }

  // MARK: - The key of each attempt

  @Test func aRedirectIsFollowedWithAnotherKey() async throws {
    let target = try LoopbackServer { _ in Self.greeting }
    let location = url(target, "/new")
    let server = try LoopbackServer { _ in .redirect(to: location) }
    let socket = try await session.webSocket(for: HTTPRequest(.get, url(server, "/old")), protocols: ["chat"])
    try await expectGreeting(socket)
    #expect(socket.response.url == URL(string: url(target, "/new", scheme: "http")))
    #expect(socket.response.history.count == 1)
    let keys = [key(of: server.requests[0]), key(of: target.requests[0])]
    #expect(keys[0] != nil && keys[1] != nil && keys[0] != keys[1])
    #expect(target.requests[0].fields["Sec-WebSocket-Protocol"] == "chat")
  }

  @Test func aChallengeIsAnsweredWithAnotherKey() async throws {
    let server = try LoopbackServer { request in
      guard request.fields[.authorization] == "Basic YTpi" else {
        return .text("who?", status: .unauthorized).with(.wwwAuthenticate, "Basic realm=\"r\"")
      }
      return Self.greeting
    }
    let scope = CredentialScope.origin(of: try #require(URL(string: url(server))))
    let session = Self.session {
      $0.credentials = [PasswordSource(for: scope) { _ in Credential(user: "a", password: "b") }]
    }
    try await expectGreeting(session.webSocket(for: HTTPRequest(.get, url(server))))
    let keys = server.requests.map(key(of:))
    #expect(keys.count == 2 && keys[0] != keys[1])
  }

  @Test func theAnswerIsCheckedBeforeInterceptorsSeeIt() async throws {
    final class Watch: Interceptor {
      let statuses = Mutex<[HTTPStatus]>([])

      func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
        if case .success(let response) = outcome { statuses.withLock { $0.append(response.status) } }
        return .accept
      }
    }
    let watch = Watch()
    let session = Self.session { $0.interceptors = [watch] }
    let server = try LoopbackServer { _ in Self.greeting.with("Sec-WebSocket-Accept", "bm9wZQ==") }
    let error = await #expect(throws: HTTPError.self) {
      try await session.webSocket(for: HTTPRequest(.get, url(server)))
    }
    #expect(error?.kind == .protocolViolation)
    #expect(error?.message.contains("Sec-WebSocket-Accept") == true)
    #expect(watch.statuses.withLock { $0 }.isEmpty)
    try await server.end(ofConnection: 1)
  }

  @Test(arguments: [
    ("Upgrade", "h2c"), ("Connection", "close"), ("Sec-WebSocket-Protocol", "other"),
    ("Sec-WebSocket-Extensions", "permessage-deflate; level=9"), ("Sec-WebSocket-Extensions", "foo"),
  ])
  func anAnswerThatDoesNotFitOpensNothing(_ name: String, value: String) async throws {
    let field = try FieldName(name)
    let server = try LoopbackServer { _ in Self.greeting.with(field, value) }
    let error = await #expect(throws: HTTPError.self) {
      try await session.webSocket(for: HTTPRequest(.get, url(server)), protocols: ["chat"])
    }
    #expect(error?.kind == .protocolViolation)
    try await server.end(ofConnection: 1)
  }

  // MARK: - The way to the server

  @Test func aProxyMakesATunnel() async throws {
    let folder = try TemporaryFolder(), port = try LocalPort.free()
    try folder.write(Data("Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\n".utf8), to: "tinyproxy.conf")
    let proxy = try RealProcess("tinyproxy", ["-d", "-c", folder.file("tinyproxy.conf").path], port: port)
    defer { withExtendedLifetime((proxy, folder)) {} }
    var connection = ConnectionConfiguration()
    connection.proxy = .http("127.0.0.1", port: port)
    let session = HTTPSession(transport: SocketTransport(connection))
    let server = try LoopbackServer { _ in Self.greeting }
    try await expectGreeting(session.webSocket(for: HTTPRequest(.get, url(server))))
    #expect(server.requests[0].target == "/")
  }

  @Test func theAddressPolicyHolds() async throws {
    let server = try LoopbackServer { _ in Self.greeting }
    var connection = ConnectionConfiguration()
    connection.addressPolicy = .publicAddresses
    let session = HTTPSession(transport: SocketTransport(connection))
    let error = await #expect(throws: HTTPError.self) {
      try await session.webSocket(for: HTTPRequest(.get, url(server)))
    }
    #expect(error?.kind == .addressRefused)
    #expect(server.requests.isEmpty)
  }

  // MARK: - What belongs to a call

  @Test func theServerChoosesASubprotocol() async throws {
    let server = try LoopbackServer { request in
      .webSocket(subprotocol: request.path == "/none" ? nil : "superchat") { try $0.close() }
    }
    let socket = try await session.webSocket(for: HTTPRequest(.get, url(server)), protocols: ["chat", "superchat"])
    #expect(socket.negotiatedProtocol == "superchat")
    let other = try await session.webSocket(for: HTTPRequest(.get, url(server, "/none")), protocols: ["chat"])
    #expect(other.negotiatedProtocol == nil)
    #expect(server.requests[0].fields["Sec-WebSocket-Protocol"] == "chat, superchat")
    for protocols in [["a b"], ["a", "a"], [""]] {
      let error = await #expect(throws: HTTPError.self) {
        try await session.webSocket(for: HTTPRequest(.get, url(server)), protocols: protocols)
      }
      #expect(error?.kind == .invalidRequest)
    }
  }

  @Test func cookiesAreStoredAndSent() async throws {
    let server = try LoopbackServer { _ in Self.greeting.with(.setCookie, "id=7; Path=/") }
    for _ in 0..<2 { try await expectGreeting(session.webSocket(for: HTTPRequest(.get, url(server)))) }
    #expect(server.requests.map { $0.fields[.cookie] } == [nil, "id=7"])
  }

  @Test func aRefusalIsAResponseWithItsBody() async throws {
    let server = try LoopbackServer { _ in .json(#"{"error": "full"}"#, status: .forbidden) }
    let error = await #expect(throws: HTTPError.self) {
      try await session.webSocket(for: HTTPRequest(.get, url(server)))
    }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.response?.status == .forbidden)
    #expect(error?.body == Data(#"{"error": "full"}"#.utf8))
    #expect(error?.message.contains("403") == true)
  }

  @Test func interceptorsAndListenersTakePart() async throws {
    struct Tag: Interceptor {
      func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
        var request = request
        request.fields["X-Tag"] = "t"
        return .send(request)
      }
    }
    let finished = Mutex<[String]>([])
    let session = Self.session {
      $0.interceptors = [Tag()]
      $0.listeners = [
        EventHandler([.response, .finished]) { event, _ in finished.withLock { $0.append("\(event)".prefix(8) + "") } }
      ]
    }
    let server = try LoopbackServer { _ in Self.greeting }
    try await expectGreeting(session.webSocket(for: HTTPRequest(.get, url(server))))
    #expect(server.requests[0].fields["X-Tag"] == "t")
    #expect(finished.withLock { $0 } == ["response", "finished"])
  }

  @Test func theDeadlineEndsTheHandshakeAndNotTheWebSocket() async throws {
    let clock = ManualClock()
    let gate = Gate()
    let server = try LoopbackServer { request in
      request.path == "/slow"
        ? Self.greeting.held(by: gate)
        : .webSocket { socket in
          try socket.wait(for: gate)
          try socket.send(.string("welcome"))
          try socket.close()
        }
    }
    let session = Self.session { $0.clock = clock }
    var request = HTTPRequest(.get, url(server, "/slow"))
    request.options.deadline = .seconds(5)
    let slow = Task { [request] in try await session.webSocket(for: request) }
    _ = try await server.request(1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: HTTPError.self) { try await slow.value }
    #expect(error?.kind == .deadlineExceeded)

    request = HTTPRequest(.get, url(server))
    request.options.deadline = .seconds(5)
    let socket = try await session.webSocket(for: request)
    clock.advance(by: .seconds(6))
    gate.open()
    try await expectGreeting(socket)
  }

  @Test func aTransportWithoutUpgradesSaysSo() async throws {
    let session = HTTPSession(
      transport: MockTransport { request in
        let accept = WebSocketHandshake.accept(
          request.fields["Sec-WebSocket-Key"] ?? "", sha1: MessageDigest.sha1)
        return MockResponse(
          status: .switchingProtocols,
          fields: ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept ?? ""])
      })
    let error = await #expect(throws: HTTPError.self) {
      try await session.webSocket(for: HTTPRequest(.get, "ws://a.example/"))
    }
    #expect(error?.kind == .invalidRequest)
  }

  @Test func theAnswerOfRFC6455IsTheSystems() {
    #expect(
      WebSocketHandshake.accept("dGhlIHNhbXBsZSBub25jZQ==", sha1: MessageDigest.sha1)
        == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
  }
}
