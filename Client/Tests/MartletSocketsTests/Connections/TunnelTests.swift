#if os(Linux)
import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// What tests of WebSockets over HTTP/2 do with a ``TunnelServer``.
protocol TunnelTests {}

extension TunnelTests {
  /// - Parameter lingeringTime: long by default, because a server on a busy machine may answer late.
  func transport(
    _ server: TunnelServer, lingeringTime: Duration = .seconds(60),
    _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> SocketTransport {
    var options = SocketTransport.Options()
    options.lingeringTime = lingeringTime
    return SocketTransport(.trusting(server.authority, change), options: options)
  }

  func handshake(_ server: TunnelServer) -> HTTPRequest {
    HTTPRequest(.get, server.url, fields: [.upgrade: "websocket", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="])
  }

  func ask(_ transport: SocketTransport, _ server: TunnelServer, _ method: HTTPMethod = .get) async throws
    -> String
  {
    let response = try await transport.send(HTTPRequest(method, server.url), in: Call())
    return String(decoding: try await response.body.collect(upTo: 10_000_000), as: UTF8.self)
  }

  /// The next event of the server.
  func event(_ transport: SocketTransport, _ server: TunnelServer) async throws -> String {
    try await ask(transport, server, .post)
  }

  /// Opens a tunnel over the connection of an earlier request.
  func open(
    _ command: TunnelServer.Command, _ transport: SocketTransport, _ server: TunnelServer
  ) async throws -> any DuplexStream {
    #expect(try await ask(transport, server) == "ok")
    let response = try await transport.send(handshake(server), in: Call())
    #expect(response.status == .ok)
    #expect(response.head.version == .http2)
    let stream = try #require(response.stream)
    #expect(stream.isShared)
    do { try await stream.write(Data("\(command.rawValue)\n".utf8)) } catch {
      // which may see the loss already
      guard [.reset, .cut, .fields, .leave].contains(command) else { throw error }
    }
    return stream
  }

  func rest(of stream: any DuplexStream) async throws -> Data {
    var data = Data()
    while let bytes = try await stream.read() { data += bytes }
    #expect(try await stream.read() == nil)
    return data
  }

  func expectEcho(_ stream: any DuplexStream, hello: String = "hello ") async throws {
    try await stream.write(Data("a".utf8))
    var text = ""
    while text != hello + "a" { text += String(decoding: try #require(try await stream.read()), as: UTF8.self) }
    try await stream.write(Data("bc".utf8))
    stream.finish()
    #expect(try await rest(of: stream) == Data("bc bye".utf8))
    let error = await #expect(throws: HTTPError.self) { try await stream.write(Data("d".utf8)) }
    #expect(error?.kind == .connectionLost)
  }

  func opened(_ transport: SocketTransport) async -> [Int] { await transport.statistics().values.map(\.opened) }

  func active(_ transport: SocketTransport) async -> [Int] { await transport.statistics().values.map(\.active) }
}
#endif
