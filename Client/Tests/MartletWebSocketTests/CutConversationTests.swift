import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletWebSocket

/// A conversation with every kind of frame, from the head of its handshake on, that ends after each of its bytes in
/// every way: more than a thousand conversations, which take minutes on a busy machine.
@Suite(.timeLimit(.minutes(15)))
struct CutConversationTests {
  /// What a user sees of a conversation.
  private struct Progress: Sendable, Equatable {
    var isOpen = false
    var messages: [WebSocket.Message] = []
    /// Whether the server has closed it in order.
    var isClosed = false
  }

  private static let script = [
    LoopbackWebSocket.frame(1, Data("one".utf8)), LoopbackWebSocket.frame(9, Data("?".utf8)),
    LoopbackWebSocket.frame(2, Data(count: 130), isFinal: false), LoopbackWebSocket.frame(0, Data(count: 3)),
    LoopbackWebSocket.frame(8, Data([0x03, 0xE8])),
  ]

  private let clock = ManualClock()

  @Test(arguments: [false, true]) func everyEndIsAnErrorAfterTheMessagesBeforeIt(isHTTP2: Bool) async throws {
    let script = Self.script.reduce(Data(), +)
    let server = try TunnelServer(script: Array(script), tls: false)
    let observer = SocketTransport(Self.configuration(isHTTP2: true))
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.options.retryPolicy = .never
    // the lines of a 101; or a head of 9 + 13 bytes, and that of DATA
    let (head, prefix) = isHTTP2 ? (9 + 13, 9 + 13 + 9) : (129, 129)
    let inScript = isHTTP2 ? Self.ends([.stream, .reset, .silence], upTo: script.count) : []
    for (end, count) in inScript + Self.ends([.stall, .cut, .loss], upTo: prefix + script.count) {
      let isInScript = [.stream, .reset, .silence].contains(end)
      let expected = Self.progress(after: isInScript ? count : count - prefix, isOpen: isInScript || count >= head)
      let place = "\(end) after \(count)"
      // a transport of its own, because a frame may be cut off
      let transport = SocketTransport(Self.configuration(isHTTP2: isHTTP2))
      let session = HTTPSession(transport: transport, configuration: configuration)
      let progress = Awaitable(Progress())
      let conversation = Task { await converse(with: server, in: session, progress) }
      if [.silence, .stall].contains(end) {
        while try await ask(observer, .post, server) != "silent" {}
        _ = try await progress.wait { $0 == expected ? true : nil }
        await conversation.wait(whileTimePassesOn: clock)
      }
      let error = await conversation.value

      if end == .loss {  // the system drops what was not read before a RST
        #expect(expected.messages.starts(with: progress.value.messages), "\(place)")
      } else {
        #expect(progress.value == expected, "\(place)")
      }
      let isTimeout = [.silence, .stall].contains(end)
      let kind: HTTPError.Kind = isTimeout ? expected.isOpen ? .idleTimeout : .deadlineExceeded : .connectionLost
      #expect(error?.kind == (progress.value.isClosed ? nil : kind), "\(place) \(String(describing: error))")
      if isHTTP2, isInScript || end != .stall && error != nil {
        // it was the end of the stream only, or that of the connection
        #expect(try await ask(transport, .get, server) == "ok")
        #expect(await transport.statistics().values.map(\.opened) == [isInScript ? 1 : 2], "\(place)")
      }
      try await until { await !transport.statistics().values.contains(where: { $0.active > 0 }) }
    }
  }

  private static func ends(_ ends: [TunnelServer.End], upTo count: Int) -> [(TunnelServer.End, Int)] {
    (0...count).flatMap { count in ends.map { ($0, count) } }
  }

  /// What a user sees after so many bytes of the script.
  private static func progress(after count: Int, isOpen: Bool) -> Progress {
    let sizes = script.map(\.count)
    func has(_ frames: Int) -> Bool { count >= sizes.prefix(frames).reduce(0, +) }
    let messages: [WebSocket.Message] = has(4) ? [.string("one"), .data(Data(count: 133))] : [.string("one")]
    return Progress(isOpen: isOpen, messages: has(1) ? messages : [], isClosed: has(5))
  }

  private static func configuration(isHTTP2: Bool) -> ConnectionConfiguration {
    var connection = ConnectionConfiguration()
    connection.versions = isHTTP2 ? .http2PriorKnowledge : .http1
    return connection
  }

  private func ask(_ transport: SocketTransport, _ method: HTTPMethod, _ server: TunnelServer) async throws -> String {
    let response = try await transport.send(HTTPRequest(method, server.url), in: Call())
    return String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
  }

  /// Receives until the end. Returns its error.
  private func converse(
    with server: TunnelServer, in session: HTTPSession, _ progress: Awaitable<Progress>
  ) async -> HTTPError? {
    weak var channel: FramedConnection?
    do throws(HTTPError) {
      var request = HTTPRequest(.get, server.url)
      request.options.deadline = .seconds(100)
      let socket = try await session.webSocket(for: request)
      channel = socket.channel as? FramedConnection
      progress.update { $0.isOpen = true }
      for try await message in socket { progress.update { $0.messages.append(message) } }
      progress.update { $0.isClosed = true }
      await socket.close()
      return nil
    } catch {
      try? await until { channel == nil }  // nothing keeps it
      return error
    }
  }
}

extension Task where Success: Sendable, Failure == Never {
  /// Lets time pass until the task ends.
  fileprivate func wait(whileTimePassesOn clock: ManualClock) async {
    let time = Task<Void, any Error> {
      while true {
        try await clock.sleepers(1)
        clock.advance(by: .seconds(10))
      }
    }
    _ = await value
    time.cancel()
    _ = await time.result
  }
}
