#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Requests whose server asks for a client certificate when it has their head.
@Suite(.timeLimit(.minutes(5)))
struct ReauthenticationRequestTests {
  private func transport(_ server: HandshakeServer, hasCertificate: Bool = true) -> SocketTransport {
    var connection = ConnectionConfiguration()
    connection.proxy = .direct
    connection.tls.authorities = server.authority
    if hasCertificate { connection.tls.clientCertificate = server.clientCertificate }
    return SocketTransport(connection)
  }

  /// Completes the handshake, and receives the head of the request.
  private func begin(_ server: HandshakeServer) async throws {
    try await until { server.accept() }
    try await until { try server.receivesHello() }
    try server.send(server.half + server.rest)
    try await until { try server.receivesRequest() || server.receivedCount() > 200 }
  }

  @Test(arguments: TLSSessionTests.versions)
  func aRequestIsAnsweredAfterTheCertificate(version: Int32) async throws {
    let server = try HandshakeServer(version)
    let transport = transport(server), target = server.url
    async let text = {
      let response = try await transport.send(HTTPRequest(.get, target), in: Call())
      return String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
    }()
    try await begin(server)

    try server.askForCertificate()
    try await until { try server.receivedName() != nil }
    try server.respond("hello")

    #expect(try await text == "hello")
    #expect(try server.receivedName() == "client")
  }

  /// The body waits during the renegotiation: no byte of it is lost.
  @Test(arguments: TLSSessionTests.versions)
  func aBodyGoesOnAfterTheCertificate(version: Int32) async throws {
    let server = try HandshakeServer(version)
    let transport = transport(server), target = server.url
    let body = Data(repeating: 1, count: 3_000_000)
    async let text = {
      let response = try await transport.send(HTTPRequest(.post, target, body: .data(body)), in: Call())
      return String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
    }()
    try await begin(server)

    try server.askForCertificate()
    try await until { try server.receivedName() != nil }
    try await until { try server.receivedCount() > body.count }
    try server.respond("hello")

    #expect(try await text == "hello")
  }
}
#endif
