#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// HTTP/2 connections that were silent for long. They are probed with a PING before they are used again.
@Suite(.timeLimit(.minutes(5)))
struct SilentConnectionTests {
  private func transport(
    to server: FrameServer, _ change: (inout SocketTransport.Options) -> Void
  ) -> SocketTransport {
    var options = SocketTransport.Options()
    change(&options)
    return SocketTransport(.trusting(server.authority), options: options)
  }

  private func text(
    _ transport: SocketTransport, _ server: FrameServer, _ change: (inout HTTPRequest) -> Void = { _ in }
  ) async throws -> String {
    var request = HTTPRequest(.post, server.url, body: .data(Data("a".utf8)))
    // a request that must not be repeated: it must not be sent before the answer
    request.options.retryPolicy = .never
    change(&request)
    let response = try await transport.send(request, in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  /// The server answers with the number of its connection and the number of PINGs that came over it.
  @Test func aSilentConnectionIsProbedBeforeEachUse() async throws {
    let server = try FrameServer(.pings)
    let transport = transport(to: server) { options in
      options.silenceLimit = .zero
      options.probeTimeout = .seconds(200)
    }
    #expect(try await text(transport, server) == "1 0")
    #expect(try await text(transport, server) == "1 1")
    #expect(try await text(transport, server) == "1 2")
  }

  @Test func aConnectionThatWasNotSilentIsNot() async throws {
    let server = try FrameServer(.pings)
    let transport = transport(to: server) { $0.silenceLimit = .seconds(1000) }
    for _ in 0..<3 { #expect(try await text(transport, server) == "1 0") }
  }

  @Test func aConnectionThatDoesNotAnswerIsReplaced() async throws {
    let server = try FrameServer(.deaf)
    let transport = transport(to: server) { options in
      options.silenceLimit = .zero
      options.probeTimeout = .milliseconds(50)
    }
    #expect(try await text(transport, server) == "1 0")
    #expect(try await text(transport, server) == "2 0")
  }

  @Test func requestsWaitForTheAnswerTogether() async throws {
    let server = try FrameServer(.deaf)
    let transport = transport(to: server) { options in
      options.silenceLimit = .zero
      options.probeTimeout = .milliseconds(50)
    }
    #expect(try await text(transport, server) == "1 0")
    let texts = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 { group.addTask { try await text(transport, server) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(texts.count == 8 && !texts.contains { $0.hasPrefix("1 ") })
  }

  // MARK: - PINGs during a request

  /// The loop takes some turns between the head of each request and its body.
  @Test(arguments: [Duration.zero, .seconds(-1)])
  func anIntervalWithoutLengthLetsTheLoopGoOn(_ interval: Duration) async throws {
    let server = try FrameServer(.pings)
    let transport = transport(to: server) { _ in }
    for _ in 0..<2 {
      let gate = Gate()
      let call = Task {
        try await text(transport, server) { request in
          request.options.pingInterval = interval
          request.body = .stream {
            AsyncThrowingStream<Data, any Error>(unfolding: {
              try await gate.wait()
              return nil
            })
          }
        }
      }
      try await until { await transport.statistics().values.map(\.active) == [1] }
      for _ in 0..<3 { _ = await transport.statistics() }
      gate.open()
      #expect(try await call.value.hasPrefix("1 "))
    }
  }

  // MARK: - Places in the pool

  /// The connection never answers. The other request keeps its place.
  @Test func aRequestThatIsCancelledWhileItWaitsReleasesItsPlaceOnce() async throws {
    let server = try FrameServer(.deaf)
    let transport = transport(to: server) { options in
      options.silenceLimit = .zero
      options.probePatience = .seconds(200)
    }
    #expect(try await text(transport, server) == "1 0")
    let calls = (0..<2).map { _ in Task { try await text(transport, server) } }
    try await until { await transport.statistics().values.map(\.active) == [2] }

    calls[0].cancel()

    try await until { await transport.statistics().values.map(\.active) != [2] }
    #expect(await transport.statistics().values.map(\.active) == [1])
    calls[1].cancel()
    for call in calls { await #expect(throws: (any Error).self) { try await call.value } }
    try await until { await transport.statistics().values.map(\.active) == [0] }
  }

  /// The first connection stays open, without a place in use.
  @Test func aRequestThatGetsAnotherConnectionReleasesItsPlace() async throws {
    let server = try FrameServer(.deaf)
    let transport = transport(to: server) { options in
      options.silenceLimit = .zero
      options.probePatience = .milliseconds(50)
      options.probeTimeout = .seconds(200)
    }
    #expect(try await text(transport, server) == "1 0")
    #expect(try await text(transport, server) == "2 0")
    #expect(await transport.statistics().values.map(\.active) == [0])
  }
}
#endif
