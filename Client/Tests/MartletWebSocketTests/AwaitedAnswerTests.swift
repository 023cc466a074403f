import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletWebSocket

/// A program that sends and receives in turns waits for the answer on the thread that receives, except over HTTP/2.
/// Whatever other tasks do in the meantime, no message is lost or received twice.
@Suite(.timeLimit(.minutes(5)))
struct AwaitedAnswerTests {
  private let clock = ManualClock()

  /// Opens a WebSocket whose messages are returned, and lets it answer until answers are awaited.
  private func open(_ isHTTP2: Bool) async throws -> (WebSocket, keeping: any Sendable) {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    let (socket, server): (WebSocket, any Sendable)
    if isHTTP2 {
      let tunnels = try TunnelServer(settings: "8=1,frames", tls: false)
      var connection = ConnectionConfiguration()
      connection.versions = .http2PriorKnowledge
      let session = HTTPSession(transport: SocketTransport(connection), configuration: configuration)
      (socket, server) = (try await session.webSocket(for: HTTPRequest(.get, tunnels.url)), tunnels)
    } else {
      // a message `quiet` is not returned
      let loopback = try LoopbackServer { _ in
        .webSocket { socket in
          while let message = try socket.receive() { if message != .string("quiet") { try socket.send(message) } }
        }
      }
      let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
      socket = try await session.webSocket(for: HTTPRequest(.get, "ws://127.0.0.1:\(loopback.port)/"))
      server = loopback
    }
    for number in 0..<20 {
      try await socket.send(.string("\(number)"))
      #expect(try await socket.receive() == .string("\(number)"))
    }
    return (socket, server)
  }

  @Test(arguments: [false, true]) func tasksThatSendAndReceiveAtOnceGetEachMessageOnce(isHTTP2: Bool) async throws {
    let (socket, server) = try await open(isHTTP2)
    async let received = Task {
      var messages: [WebSocket.Message] = []
      for _ in 0..<300 { messages.append(try await socket.receive()) }
      return messages
    }.value
    for number in 0..<300 { try await socket.send(.string("\(number)")) }
    #expect(try await received == (0..<300).map { .string("\($0)") })
    await socket.close()
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [false, true]) func messagesThatAreSentAheadReturnInTheirOrder(isHTTP2: Bool) async throws {
    let (socket, server) = try await open(isHTTP2)
    var sent = 0
    for received in 0..<500 {
      while sent < min(500, received + 16) {
        try await socket.send(.string("\(sent)"))
        sent += 1
      }
      #expect(try await socket.receive() == .string("\(received)"))
    }
    await socket.close()
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [false, true]) func aReceiverThatIsCancelledMeanwhileLosesNothing(isHTTP2: Bool) async throws {
    let (socket, server) = try await open(isHTTP2)
    for number in 0..<100 {
      let receiver = Task { try await socket.receive() }
      let sender = Task { try await socket.send(.string("\(number)")) }
      receiver.cancel()
      try await sender.value
      let message: WebSocket.Message
      do { message = try await receiver.value } catch { message = try await socket.receive() }
      #expect(message == .string("\(number)"))
    }
    await socket.close()
    withExtendedLifetime(server) {}
  }

  /// The clock stands still: nothing but the server's answer ends the close.
  @Test(arguments: [false, true]) func aCloseMeanwhileEnds(isHTTP2: Bool) async throws {
    for _ in 0..<5 {
      let (socket, server) = try await open(isHTTP2)
      let sender = Task { try await socket.send(.string("quiet")) }
      await socket.close()
      #expect(socket.closeCode == .normalClosure)
      _ = await sender.result
      withExtendedLifetime(server) {}
    }
  }

  /// A server that does not answer any more holds back neither the thread nor other connections.
  @Test func anAnswerThatDoesNotComeIsNotAwaitedForLong() async throws {
    let (socket, server) = try await open(false)
    for _ in 0..<10 { try await socket.send(.string("quiet")) }
    try await socket.send(.string("loud"))
    #expect(try await socket.receive() == .string("loud"))
    await socket.close()
    withExtendedLifetime(server) {}
  }

  @Test(arguments: [100, 40_000, 65_536, 70_000, 300_000]) func largeAnswersArriveWhole(size: Int) async throws {
    let (socket, server) = try await open(false)
    for number in 0..<30 {
      let message = WebSocket.Message.data(Data.counting(size, from: number))
      try await socket.send(message)
      #expect(try await socket.receive() == message)
    }
    await socket.close()
    withExtendedLifetime(server) {}
  }

  /// The rest of an answer that has begun is awaited, too, but neither for long nor at the cost of other requests.
  @Test func anAnswerThatStopsInItsMiddleHoldsBackNothing() async throws {
    let rest = Gate()
    let server = try LoopbackServer { request in
      guard request.target == "/chat" else { return .text("served") }
      return .webSocket { socket in
        while let message = try socket.receive() {
          guard message == .string("stop") else {
            try socket.send(message)
            continue
          }
          let frame = LoopbackWebSocket.frame(2, Data(count: 100_000))
          try socket.send(bytes: frame.prefix(60_000))
          try socket.wait(for: rest)
          try socket.send(bytes: frame.dropFirst(60_000))
        }
      }
    }
    let session = HTTPSession(transport: SocketTransport())
    let socket = try await session.webSocket(for: HTTPRequest(.get, "ws://127.0.0.1:\(server.port)/chat"))
    for number in 0..<20 {
      try await socket.send(.string("\(number)"))
      #expect(try await socket.receive() == .string("\(number)"))
    }
    try await socket.send(.string("stop"))
    #expect(try await session.text(for: HTTPRequest(.get, server.url)).0 == "served")
    rest.open()
    #expect(try await socket.receive() == .data(Data(count: 100_000)))
    await socket.close()
  }
}
