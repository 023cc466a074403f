import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport

@testable import MartletWebSocket

/// A session and servers for tests whose time they control.
struct SocketBed {
  let clock = ManualClock()
  let session: HTTPSession

  init() {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    session = HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  func server(_ serve: @escaping @Sendable (LoopbackWebSocket) throws -> Void) throws -> LoopbackServer {
    try LoopbackServer { _ in .webSocket(serve) }
  }

  /// Opens a WebSocket without pings for silence, unless the change sets an interval.
  func open(
    _ server: LoopbackServer, _ path: String = "", _ change: (inout WebSocket.Options) -> Void = { _ in }
  ) async throws -> WebSocket {
    var options = WebSocket.Options()
    options.pingInterval = nil
    change(&options)
    return try await session.webSocket(
      for: HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/\(path)"), options: options)
  }
}
