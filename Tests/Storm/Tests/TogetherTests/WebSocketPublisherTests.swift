import Martlet
import MartletCombine
import MartletTesting
import MartletWebSocket
import Testing

/// The messages of a WebSocket as the values of a publisher.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketPublisherTests {
  @Test func messagesAreAPublishersValues() async throws {
    let server = try LoopbackServer { _ in
      .webSocket { socket in
        for number in 1...3 { try socket.send(.string("\(number)")) }
        try socket.close()
      }
    }
    let request = HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/")
    let socket = try await HTTPSession().webSocket(for: request)
    var messages: [WebSocket.Message] = []
    for try await message in AsyncSequencePublisher(socket).values { messages.append(message) }
    #expect(messages == [.string("1"), .string("2"), .string("3")])
  }
}
