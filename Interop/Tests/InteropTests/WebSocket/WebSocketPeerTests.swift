import Foundation
import Martlet
import MartletTesting
import MartletWebSocket
import Testing

/// WebSockets with servers that others wrote.
@Suite("WebSocket peers", .timeLimit(.minutes(5)))
struct WebSocketPeerTests {
  enum Peer: String, Sendable, CaseIterable { case websockets, aiohttp, hypercorn, node }

  /// Starts a server of WebSockets that returns each message.
  ///
  /// - Parameter clients: whether the authority also has to vouch for clients; not for `node`.
  static func server(_ peer: Peer, _ authority: TestAuthority?, clients: Bool = false) throws -> RealProcess {
    let port = try LocalPort.free()
    let folder = URL(filePath: #filePath).deletingLastPathComponent()
    var files: [String] = []
    if let authority {
      files = ["server.pem", "server.key"].map { authority.folder.file($0).path }
      if clients { files.append(authority.certificate.path) }
    }
    guard peer != .node else {
      // the folder of Debian's packages, which other builds of node do not search
      let arguments = ["NODE_PATH=/usr/share/nodejs", "node", folder.appending(path: "node.cjs").path, "\(port)"]
      return try RealProcess("env", arguments + files, port: port)
    }
    let script = folder.appending(path: "peers.py").path
    return try RealProcess(try Python.path(), [script, peer.rawValue, "\(port)"] + files, port: port)
  }

  private func open(
    _ server: RealProcess, _ authority: TestAuthority?, compression: WebSocket.Compression? = .init()
  ) async throws -> WebSocket {
    var connection = ConnectionConfiguration()
    connection.tls.authorities = authority?.certificate
    var options = WebSocket.Options()
    options.messageLimit = 8 << 20
    options.compression = compression
    let url = "\(authority == nil ? "ws" : "wss")://127.0.0.1:\(server.port)/"
    return try await HTTPSession(transport: SocketTransport(connection)).webSocket(
      for: HTTPRequest(.get, url), protocols: ["other", "chat"], options: options)
  }

  static func expectEchoes(of socket: WebSocket) async throws {
    let noise = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) })
    let messages: [WebSocket.Message] = [
      .string("grüß dich"), .data(Data([0, 255])), .string(String(repeating: "again ", count: 100_000)), .data(noise),
      .string("grüß dich"),
    ]
    for message in messages {
      try await socket.send(message)
      #expect(try await socket.receive() == message)
    }
    let pieces = AsyncStream<Data> { stream in
      for _ in 0..<40 { stream.yield(noise.prefix(100_000)) }
      stream.finish()
    }
    async let sent: Void = socket.send(.data, from: pieces)
    var count = 0
    for try await bytes in try await socket.receiveStream() { count += bytes.count }
    #expect(count == 4_000_000)
    try await sent
  }

  @Test(arguments: Peer.allCases, [false, true]) func messagesComeBack(from peer: Peer, tls: Bool) async throws {
    let authority = tls ? try TestAuthority() : nil
    let server = try Self.server(peer, authority)
    let socket = try await open(server, authority)
    #expect(socket.negotiatedProtocol == "chat")
    #expect(socket.response.fields["Sec-WebSocket-Extensions"]?.hasPrefix("permessage-deflate") == true)
    try await Self.expectEchoes(of: socket)
    #expect(try await socket.sendPing() > .zero)
    await socket.close(.normalClosure, reason: "done")
    #expect(socket.closeCode == .normalClosure)
  }

  @Test(arguments: Peer.allCases) func everyCompressionIsUnderstood(by peer: Peer) async throws {
    let server = try Self.server(peer, nil)
    for offer in Self.offers {
      let socket = try await open(server, nil, compression: offer)
      for text in ["", "a", String(repeating: "bcd", count: 30_000), "a"] {
        try await socket.send(.string(text))
        #expect(try await socket.receive() == .string(text))
      }
      await socket.close()
      #expect(socket.closeCode == .normalClosure)
    }
  }

  /// No compression, and every kind of it.
  static let offers: [WebSocket.Compression?] = {
    var offers: [WebSocket.Compression?] = [nil]
    for resetsSent in [false, true] {
      for resetsReceived in [false, true] {
        for bits in [nil, 9, 12, 15] {
          var offer = WebSocket.Compression()
          offer.resetsSentContext = resetsSent
          offer.resetsReceivedContext = resetsReceived
          offer.receivedWindowBits = bits
          offers.append(offer)
        }
      }
    }
    return offers
  }()
}
