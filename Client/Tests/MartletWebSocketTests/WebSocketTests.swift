import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
import MartletTesting
import TestSupport
import Testing

@testable import MartletWebSocket

/// WebSockets of a session over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct WebSocketTests {
  private static func session(_ change: (inout SessionConfiguration) -> Void = { _ in }) -> HTTPSession {
    var configuration = SessionConfiguration()
    change(&configuration)
    return HTTPSession(transport: SocketTransport(), configuration: configuration)
  }

  private let session = Self.session()

  private static let echo: @Sendable (LoopbackWebSocket) throws -> Void = { socket in
    while let message = try socket.receive() { try socket.send(message) }
  }

  private func server(_ serve: @escaping @Sendable (LoopbackWebSocket) throws -> Void) throws -> LoopbackServer {
    try LoopbackServer { _ in .webSocket(serve) }
  }

  private func url(_ server: LoopbackServer, _ path: String = "/", scheme: String = "ws") -> String {
    "\(scheme)://127.0.0.1:\(server.port)\(path)"
  }

  private func open(
    _ server: LoopbackServer, protocols: [String] = [], _ change: (inout WebSocket.Options) -> Void = { _ in }
  ) async throws -> WebSocket {
    var options = WebSocket.Options()
    change(&options)
    return try await session.webSocket(for: HTTPRequest(.get, url(server)), protocols: protocols, options: options)
  }

  // MARK: - Messages

  @Test(arguments: ["ws", "http"]) func messagesGoToAndFro(scheme: String) async throws {
    let server = try server(Self.echo)
    let socket = try await session.webSocket(for: HTTPRequest(.get, url(server, scheme: scheme)))
    for message in [.string("grüß dich"), .data(Data([0, 255])), .string(""), .data(Data())] as [WebSocket.Message] {
      try await socket.send(message)
      #expect(try await socket.receive() == message)
    }
    #expect(socket.response.status == .switchingProtocols)
    #expect(socket.closeCode == nil)
    await socket.close()
    #expect(socket.closeCode == .normalClosure)
    #expect(server.requests[0].fields["Sec-WebSocket-Version"] == "13")
  }

  @Test(arguments: [125, 126, 65_535, 65_536, 1 << 20]) func messagesOfAnySizeGoToAndFro(_ size: Int) async throws {
    let server = try server(Self.echo)
    let socket = try await open(server)
    let message = WebSocket.Message.data(Data.counting(size))
    try await socket.send(message)
    #expect(try await socket.receive() == message)
    await socket.close()
  }

  @Test func aSequenceEndsWhenTheServerCloses() async throws {
    let server = try server { socket in
      for text in ["a", "b", "c"] { try socket.send(.string(text)) }
      try socket.close(.goingAway, reason: "bye")
    }
    let socket = try await open(server)
    var texts: [WebSocket.Message] = []
    for try await message in socket { texts.append(message) }
    #expect(texts == [.string("a"), .string("b"), .string("c")])
    #expect(socket.closeCode == .goingAway)
    #expect(socket.closeReason == "bye")
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await socket.receive() }
      #expect(error?.kind == .connectionLost)
      #expect(error?.message.contains("1001 (goingAway): bye") == true)
    }
    let error = await #expect(throws: HTTPError.self) { try await socket.send(.string("d")) }
    #expect(error?.kind == .connectionLost)
  }

  @Test func aFragmentedMessageIsOneMessage() async throws {
    let server = try server { socket in
      try socket.sendFrame(1, Data("gr".utf8), isFinal: false)
      try socket.sendFrame(9, Data("ping".utf8))
      try socket.sendFrame(0, Data("üß".utf8).prefix(3), isFinal: false)
      try socket.sendFrame(0, Data(), isFinal: false)
      try socket.sendFrame(0, Data("üß".utf8).suffix(1))
      guard let pong = try socket.receiveFrame(), pong.opcode == 10, pong.payload == Data("ping".utf8) else { return }
      try socket.close()
    }
    let socket = try await open(server)
    #expect(try await socket.receive() == .string("grüß"))
    #expect(try await socket.next() == nil)
    #expect(socket.closeCode == .normalClosure)
  }

  @Test func severalTasksSendWholeMessages() async throws {
    let server = try server(Self.echo)
    let socket = try await open(server)
    let sizes = Array(1...40).map { $0 * 997 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for size in sizes {
        group.addTask { try await socket.send(.data(Data(repeating: UInt8(size & 255), count: size))) }
      }
      var received: Set<Int> = []
      for _ in sizes {
        guard case .data(let data) = try await socket.receive() else { return }
        #expect(Set(data) == [UInt8(data.count & 255)])
        received.insert(data.count)
      }
      #expect(received == Set(sizes))
      try await group.waitForAll()
    }
    await socket.close()
  }

  @Test func pingsAreAnsweredWhileNobodyReceives() async throws {
    let server = try server { socket in
      try socket.send(.string("unread"))
      for number in 0..<10 as Range<UInt8> {
        try socket.sendFrame(9, Data([number]))
        guard try socket.receiveFrame()?.payload == Data([number]) else { return }
      }
      try socket.close(.normalClosure, reason: "all answered")
    }
    let socket = try await open(server)
    #expect(try await server.end(ofConnection: 1) == .server)
    #expect(socket.closeReason == "all answered")
    #expect(try await socket.receive() == .string("unread"))
  }

  @Test func aPingTellsTheTimeUntilItsPong() async throws {
    let server = try server(Self.echo)
    let socket = try await open(server)
    for _ in 0..<3 { #expect(try await socket.sendPing() > .zero) }
    await socket.close()
    let error = await #expect(throws: HTTPError.self) { try await socket.sendPing() }
    #expect(error?.kind == .shutDown)
  }

  @Test func oneHundredSocketsAtOnce() async throws {
    let server = try server(Self.echo)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask {
          let socket = try await session.webSocket(for: HTTPRequest(.get, url(server)))
          for round in 0..<5 {
            try await socket.send(.string("\(number) \(round)"))
            #expect(try await socket.receive() == .string("\(number) \(round)"))
          }
          await socket.close()
          #expect(socket.closeCode == .normalClosure)
        }
      }
      try await group.waitForAll()
    }
  }
}

extension WebSocket {
  /// Receives a message; nil if the WebSocket was closed in order.
  func next() async throws -> Message? {
    var iterator = makeAsyncIterator()
    return try await iterator.next()
  }
}
