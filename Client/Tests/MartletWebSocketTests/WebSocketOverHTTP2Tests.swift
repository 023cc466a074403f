import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletWebSocket

/// WebSockets over a connection of HTTP/2 (RFC 8441).
@Suite(.timeLimit(.minutes(5)))
struct WebSocketOverHTTP2Tests {
  private let clock = ManualClock()

  private func session(_ server: TunnelServer, _ change: (inout SessionConfiguration) -> Void = { _ in })
    -> HTTPSession
  {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.authority.certificate
    var configuration = SessionConfiguration()
    configuration.clock = clock
    change(&configuration)
    return HTTPSession(transport: SocketTransport(connection), configuration: configuration)
  }

  private func ask(_ session: HTTPSession, _ server: TunnelServer, _ method: HTTPMethod = .get) async throws -> String {
    String(decoding: try await session.data(for: HTTPRequest(method, server.url)).0, as: UTF8.self)
  }

  /// Opens a WebSocket over the connection of an earlier request.
  private func open(
    _ session: HTTPSession, _ server: TunnelServer, protocols: [String] = [],
    _ change: (inout HTTPRequest) -> Void = { _ in }
  ) async throws -> WebSocket {
    #expect(try await ask(session, server) == "ok")
    var request = HTTPRequest(.get, server.url.absoluteString.replacing("https:", with: "wss:"))
    change(&request)
    var options = WebSocket.Options()
    (options.pingInterval, options.compression) = (nil, nil)
    return try await session.webSocket(for: request, protocols: protocols, options: options)
  }

  /// The clock stands still: closing does not wait for its limit, even if the server does not end the stream.
  @Test(arguments: ["8=1,frames", "8=1,frames,open"]) func messagesGoToAndFro(settings: String) async throws {
    let server = try TunnelServer(["200|sec-websocket-protocol=chat"], settings: settings)
    let session = session(server)
    let socket = try await open(session, server, protocols: ["chat"])
    #expect(socket.response.status == .ok)
    #expect(socket.response.head.version == .http2)
    #expect(socket.negotiatedProtocol == "chat")
    for message in [WebSocket.Message.string("hello"), .data(Data(count: 100_000)), .string("")] {
      try await socket.send(message)
      #expect(try await socket.receive() == message)
    }
    #expect(try await socket.sendPing() >= .zero)
    await socket.close(.normalClosure)
    #expect(socket.closeCode == .normalClosure)
    // when the server has ended the stream, or after a second
    #expect(try await ask(session, server, .post) == "reset 8")
  }

  @Test(arguments: ["sec-websocket-protocol=other", "sec-websocket-extensions=foo"])
  func anAnswerThatDoesNotFitOpensNothing(field: String) async throws {
    let server = try TunnelServer(["200|" + field], settings: "8=1,frames")
    let session = session(server)
    let error = await #expect(throws: HTTPError.self) { try await open(session, server, protocols: ["chat"]) }
    #expect(error?.kind == .protocolViolation)
    #expect(try await ask(session, server, .post) == "reset 8")
  }

  @Test func aRefusalIsAResponseWithItsBody() async throws {
    let server = try TunnelServer(["403 full"])
    let session = session(server)
    let error = await #expect(throws: HTTPError.self) { try await open(session, server) }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.response?.status == .forbidden)
    #expect(error?.body == Data("full".utf8))
  }

  @Test(arguments: [
    ["302|location=/b", "200"], ["401|www-authenticate=Basic realm=\"r\"", "200"],
    ["401 who?|www-authenticate=Basic", "200"],
  ])
  func redirectsAndChallengesAreAnswered(answers: [String]) async throws {
    let server = try TunnelServer(answers, settings: "8=1,frames")
    let scope = CredentialScope.origin(of: server.url)
    let session = session(server) {
      $0.credentials = [PasswordSource(for: scope) { _ in Credential(user: "a", password: "b") }]
    }
    let socket = try await open(session, server)
    #expect(socket.response.history.count == 1)
    #expect(socket.response.head.version == .http2)
    try await socket.send(.string("a"))
    #expect(try await socket.receive() == .string("a"))
    await socket.close()
  }

  /// The server's picture: the fields of each CONNECT, as HPACK has them.
  private func heads(_ count: Int, _ session: HTTPSession, _ server: TunnelServer) async throws -> [String] {
    var heads: [String] = []
    while heads.count < count {
      let event = try await ask(session, server, .post)
      if event.hasPrefix("head ") { heads.append(event) }
    }
    return heads
  }

  @Test func credentialsAreSentAfterTheChallenge() async throws {
    let server = try TunnelServer(["401|www-authenticate=Basic realm=\"r\"", "200"], settings: "8=1,frames,heads")
    let scope = CredentialScope.origin(of: server.url)
    let session = session(server) {
      $0.credentials = [PasswordSource(for: scope) { _ in Credential(user: "a", password: "b") }]
    }
    try await open(session, server).close()
    let heads = try await heads(2, session, server)
    let basic = "ba34188a73df59bf"  // `Basic YTpi` in the code of RFC 7541, appendix B
    #expect(heads.map { $0.contains(basic) } == [false, true])
  }

  @Test func cookiesAreSentInTheHandshake() async throws {
    // characters that HPACK does not shorten
    let server = try TunnelServer(["200|set-cookie=id={{~{{~; Path=/"], settings: "8=1,frames,heads")
    let session = session(server)
    for _ in 0..<2 { try await open(session, server).close() }
    let heads = try await heads(2, session, server)
    let cookie = Data("id={{~{{~".utf8).map { String(format: "%02x", $0) }.joined()
    #expect(heads.map { $0.contains(cookie) } == [false, true])
  }

  @Test func cookiesOfTheAnswerAreStored() async throws {
    let server = try TunnelServer(["200|set-cookie=id=7; Path=/"], settings: "8=1,frames")
    let session = session(server)
    try await open(session, server).close()
    let (_, response) = try await session.data(for: HTTPRequest(.get, server.url))
    #expect(response.sentCookies?[.cookie] == "id=7")
  }

  @Test func theDeadlineEndsTheHandshake() async throws {
    let server = try TunnelServer(["wait"])
    let session = session(server)
    let socket = Task { try await open(session, server) { $0.options.deadline = .seconds(5) } }
    #expect(try await ask(session, server, .post) == "asked")
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: HTTPError.self) { try await socket.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(try await ask(session, server, .post) == "reset 8")
  }
}
