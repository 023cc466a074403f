import Foundation
import Martlet
import MartletTesting
import MartletWebSocket
import Testing

/// WebSockets through proxies, in plain and over TLS with a private authority and a client certificate.
@Suite("WebSockets through proxies", .timeLimit(.minutes(5)))
struct ProxiedWebSocketTests {
  enum Program: String, Sendable, CaseIterable { case squid, tinyproxy, microsocks }

  /// A proxy, and what keeps it.
  private func start(_ program: Program) throws -> (Proxy, [any Sendable]) {
    switch program {
    case .squid:
      let squid = try Squid(.none)
      return (.http("127.0.0.1", port: squid.port), [squid])
    case .tinyproxy:
      let (folder, port) = (try TemporaryFolder(), try LocalPort.free())
      try folder.write(Data("Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\n".utf8), to: "tinyproxy.conf")
      let process = try RealProcess("tinyproxy", ["-d", "-c", folder.file("tinyproxy.conf").path], port: port)
      return (.http("127.0.0.1", port: port), [folder, process])
    case .microsocks:
      let port = try LocalPort.free()
      let process = try RealProcess("microsocks", ["-i", "127.0.0.1", "-p", "\(port)"], port: port)
      return (.socks5("127.0.0.1", port: port), [process])
    }
  }

  @Test(arguments: Program.allCases, [false, true]) func messagesPass(_ program: Program, tls: Bool) async throws {
    let authority = try TestAuthority()
    let server = try WebSocketPeerTests.server(.websockets, tls ? authority : nil, clients: tls)
    let (proxy, processes) = try start(program)
    let certificate = ClientCertificate.pkcs12(
      file: authority.folder.file("client.p12"), password: TestAuthority.password)
    let session = makeSession(trusting: authority.certificate, through: proxy, certificate: tls ? certificate : nil)
    var options = WebSocket.Options()
    options.messageLimit = 8 << 20
    let request = HTTPRequest(.get, "\(tls ? "wss" : "ws")://127.0.0.1:\(server.port)/")
    let socket = try await session.webSocket(for: request, protocols: ["chat"], options: options)
    try await WebSocketPeerTests.expectEchoes(of: socket)
    #expect(try await socket.sendPing() > .zero)
    await socket.close()
    #expect(socket.closeCode == .normalClosure)

    if tls {
      let stranger = makeSession(trusting: authority.certificate, through: proxy)
      await #expect(throws: HTTPError.self) { try await stranger.webSocket(for: request) }
    }
    withExtendedLifetime(processes) {}
  }
}
