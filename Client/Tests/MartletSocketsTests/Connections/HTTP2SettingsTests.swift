#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import Testing

@testable import MartletSockets

/// The effects of a transport's settings, and of its servers' settings, over HTTP/2.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2SettingsTests {
  private func transport(
    to server: FrameServer, _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> SocketTransport {
    SocketTransport(.trusting(server.authority, change))
  }

  private func text(_ transport: SocketTransport, _ server: FrameServer) async throws -> String {
    try await text(transport, server.url)
  }

  private func text(_ transport: SocketTransport, _ url: URL) async throws -> String {
    var request = HTTPRequest(.post, url, body: .data(Data("a".utf8)))
    request.options.responseTimeout = .seconds(20)
    let response = try await transport.send(request, in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  @Test(arguments: [(1 << 21, "2097152"), (100_000, "100000"), (1, "16384"), (.max, "2147483647")])
  func readAheadIsTheWindowOfAStream(_ readAhead: Int, window: String) async throws {
    let server = try FrameServer(.window)
    #expect(try await text(transport(to: server) { $0.readAhead = readAhead }, server) == window)
  }

  /// The request would end the connection, with the others on it (RFC 9113 §6.5.2).
  @Test func aRequestWithMoreFieldsThanTheServerAcceptsIsNotSent() async throws {
    let server = try FrameServer(.fewFields)
    let transport = transport(to: server)
    #expect(try await text(transport, server) == "1")
    let request = HTTPRequest(
      .get, server.url, fields: ["X-Long": try #require(.init(String(repeating: "a", count: 1000)))])

    let error = await #expect(throws: HTTPError.self) { _ = try await transport.send(request, in: Call()) }

    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("at most 1000 bytes") == true, "\(String(describing: error))")
    #expect(await transport.statistics().values.map(\.active) == [0])
    #expect(try await text(transport, server) == "2")
    #expect(await transport.statistics().values.map(\.opened) == [1])
  }

  @Test func aRequestWaitsInThePoolWhileAServerAllowsNoStreams() async throws {
    let server = try FrameServer(.noStreams)
    let transport = transport(to: server) { $0.poolTimeout = .milliseconds(300) }
    #expect(try await text(transport, server) == "1")
    #expect(try await text(transport, server) == "last")

    // the setting comes with the response or after it: the requests until then are processed
    var error: HTTPError?
    for _ in 0..<100 where error == nil {
      do { _ = try await text(transport, server) } catch let failure as HTTPError { error = failure }
    }

    #expect(error?.kind == .poolTimeout)
    #expect(error?.phase == .queued)
  }

  /// A server that refuses its second request with a GOAWAY, and answers the others with the number of requests so far.
  private func refusingServer() throws -> (LoopbackServer, SocketTransport) {
    let count = Atomic(0)
    let server = try LoopbackServer(tls: .selfSigned) { _ in
      let number = count.wrappingAdd(1, ordering: .relaxed).newValue
      return number == 2 ? .goAway() : .text("\(number)")
    }
    return (server, SocketTransport(.trusting(server)))
  }

  /// The transport itself sends it again, before later requests, and without an attempt of the session.
  @Test func aRequestThatAGoAwayRefusesIsSentOverAnotherConnection() async throws {
    let (server, transport) = try refusingServer()
    #expect(try await text(transport, server.url) == "1")
    #expect(try await text(transport, server.url) == "3")
    #expect(await transport.statistics().values.map(\.opened) == [2])
  }

  /// Closing a socket with unread bytes resets the connection, and the server may lose the GOAWAY. It is closed soon
  /// although the server keeps its end open.
  @Test(arguments: [true, false])
  func aServerThatViolatesTheProtocolCanReadWhy(tls: Bool) async throws {
    let server = try FrameServer(.farewell, tls: tls)
    let transport = transport(to: server) { if !tls { $0.versions = .http2PriorKnowledge } }
    for _ in 0..<100 {
      await #expect(throws: HTTPError.self) { _ = try await text(transport, server) }
    }

    let response = try await transport.send(HTTPRequest(.get, server.url), in: Call())
    let codes = String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self)

    #expect(codes.split(separator: " ").map(String.init) == Array(repeating: "1", count: 100))
  }

  @Test func aRequestThatMayNotBeReplacedIsNotSentAgainAfterAGoAway() async throws {
    let (server, transport) = try refusingServer()
    #expect(try await text(transport, server.url) == "1")
    var request = HTTPRequest(.post, server.url)
    request.options.retryPolicy = .never
    let error = await #expect(throws: HTTPError.self) { _ = try await transport.send(request, in: Call()) }
    #expect(error?.delivery == .refused)
  }
}
#endif
