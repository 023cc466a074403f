import Foundation
import Martlet
import MartletTesting
import MartletWebSocket
import Testing

/// WebSockets over HTTP/2 (RFC 8441) with servers and gateways that others wrote.
@Suite("WebSocket peers over HTTP/2", .timeLimit(.minutes(5)))
struct HTTP2PeerTests {
  enum Peer: String, Sendable, CaseIterable { case hypercorn, node, haproxy, nghttpx }

  /// A server, and the gateway before it if it does not speak HTTP/2 itself.
  private final class Server: Sendable {
    let authority: TestAuthority
    let port: Int
    private let process: RealProcess
    private let front: HTTP2Front?

    init(_ peer: Peer) throws {
      authority = try TestAuthority()
      let program: HTTP2Front.Program? =
        switch peer {
        case .hypercorn, .node: nil
        case .haproxy: .haproxy
        case .nghttpx: .nghttpx
        }
      let server: WebSocketPeerTests.Peer =
        switch peer {
        case .hypercorn: .hypercorn
        case .node: .node
        case .haproxy, .nghttpx: .websockets
        }
      process = try WebSocketPeerTests.server(server, program == nil ? authority : nil)
      front = try program.map { [process, authority] in try HTTP2Front($0, to: process.port, with: authority) }
      port = front?.port ?? process.port
    }
  }

  /// A transport with a connection over HTTP/2 to the server, which WebSockets share.
  private func transport(to server: Server) async throws -> SocketTransport {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = server.authority.certificate
    let transport = SocketTransport(connection)
    try await transport.preconnect(to: #require(URL(string: "https://127.0.0.1:\(server.port)/")))
    return transport
  }

  private func open(
    _ server: Server, over transport: SocketTransport, compression: WebSocket.Compression? = .init()
  ) async throws -> WebSocket {
    var options = WebSocket.Options()
    options.messageLimit = 8 << 20
    options.compression = compression
    let request = HTTPRequest(.get, "wss://127.0.0.1:\(server.port)/")
    let socket = try await HTTPSession(transport: transport).webSocket(
      for: request, protocols: ["other", "chat"], options: options)
    #expect(socket.response.head.version == .http2)
    return socket
  }

  @Test(arguments: Peer.allCases) func messagesComeBack(from peer: Peer) async throws {
    let server = try Server(peer)
    let transport = try await transport(to: server)
    let socket = try await open(server, over: transport)
    #expect(socket.response.status == .ok)
    #expect(socket.negotiatedProtocol == "chat")
    #expect(socket.response.fields["Sec-WebSocket-Extensions"]?.hasPrefix("permessage-deflate") == true)
    try await WebSocketPeerTests.expectEchoes(of: socket)
    #expect(try await socket.sendPing() > .zero)
    await socket.close(.normalClosure, reason: "done")
    #expect(socket.closeCode == .normalClosure)

    await withTaskGroup(of: Void.self) { group in
      // Fewer than half of the 100 streams that servers allow: the first socket's stream may not have ended yet.
      for number in 0..<40 {
        group.addTask {
          await #expect(throws: Never.self) {
            let socket = try await open(server, over: transport)
            try await socket.send(.string("\(number)"))
            #expect(try await socket.receive() == .string("\(number)"))
            await socket.close()
          }
        }
      }
    }
    #expect(await transport.statistics().values.map(\.opened) == [1])
  }

  @Test(arguments: Peer.allCases) func everyCompressionIsUnderstood(by peer: Peer) async throws {
    let server = try Server(peer)
    let transport = try await transport(to: server)
    for offer in WebSocketPeerTests.offers {
      let socket = try await open(server, over: transport, compression: offer)
      for text in ["", "a", String(repeating: "bcd", count: 30_000), "a"] {
        try await socket.send(.string(text))
        #expect(try await socket.receive() == .string(text))
      }
      await socket.close()
      #expect(socket.closeCode == .normalClosure)
    }
  }
}
