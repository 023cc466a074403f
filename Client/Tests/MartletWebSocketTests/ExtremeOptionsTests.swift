#if os(Linux)
import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletWebSocket

/// The smallest and the largest values of a WebSocket's options, which are legal, stop neither the program nor others.
@Suite(.timeLimit(.minutes(5)))
struct ExtremeOptionsTests {
  struct Setup {
    var connection = ConnectionConfiguration()
    var request = RequestOptions()
    var options = WebSocket.Options()
  }

  typealias Row = ExtremeSetting<Setup>

  static let rows = [
    Row("readAhead") { $0.connection.readAhead = $1 },
    Row("decompressionRatioLimit") { $0.request.decompressionRatioLimit = $1 },
    Row("messageLimit") { $0.options.messageLimit = $1 },
    Row("receivedWindowBits") { $0.options.compression?.receivedWindowBits = $1 },
    Row(time: "pingInterval") { $0.options.pingInterval = $1 },
    Row(time: "pongTimeout") { $0.options.pongTimeout = $1 },
    Row(time: "pongTimeout of pings without a pause") {
      ($0.options.pingInterval, $0.options.pongTimeout) = (.zero, $1)
    },
    Row(time: "closeTimeout") { $0.options.closeTimeout = $1 },
    Row(time: "dropTimeout") { $0.options.dropTimeout = $1 },
    Row(time: "HTTP/2's pingInterval") { $0.request.pingInterval = $1 },
  ]

  @Test(arguments: rows) func anExtremeOptionStopsNothing(_ row: Row) async throws {
    let server = try LoopbackServer { _ in
      .webSocket { socket in while let message = try socket.receive() { try socket.send(message) } }
    }
    let request = HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/")
    for change in row.changes {
      var setup = Setup()
      change(&setup)
      await use(HTTPSession(transport: SocketTransport(setup.connection)), request, setup)
    }
  }

  @Test(arguments: rows) func anExtremeOptionStopsNothingOverHTTP2(_ row: Row) async throws {
    let server = try TunnelServer(["200"], settings: "8=1,frames")
    let request = HTTPRequest(.get, server.url.absoluteString.replacing("https:", with: "wss:"))
    for change in row.changes {
      var setup = Setup()
      setup.connection.tls.authorities = server.authority.certificate
      setup.options.compression = nil
      change(&setup)
      let session = HTTPSession(transport: SocketTransport(setup.connection))
      _ = try await session.data(for: HTTPRequest(.get, server.url))
      await use(session, request, setup)
    }
  }

  /// Opens a WebSocket, uses it and leaves it in both ways. Errors are allowed.
  private func use(_ session: HTTPSession, _ request: HTTPRequest, _ setup: Setup) async {
    var request = request
    request.options = setup.request
    for closes in [true, false] {
      guard let socket = try? await session.webSocket(for: request, options: setup.options) else { continue }
      try? await socket.send(.data(Data(count: 50_000)))
      _ = try? await socket.receive()
      _ = try? await socket.sendPing()
      if closes { await socket.close() }
    }
  }
}
#endif
