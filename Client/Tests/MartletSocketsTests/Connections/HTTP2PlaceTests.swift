#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The places of requests on a connection over HTTP/2, as the pool counts them. Each end of a request releases one
/// place, and no other: a WebSocket on the same connection keeps its own.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2PlaceTests: TunnelTests {
  /// The answers to the request: it is refused, it is reset, it has a response, it and the connection are refused (a
  /// GOAWAY below it, which allows the other stream), or it opens a tunnel. After `405` and `goaway` it is sent again
  /// over HTTP/1.1.
  @Test(arguments: ["reset 7", "reset 8", "403 no", "405", "goaway", "200"])
  func aRequestThatEndsReleasesItsPlaceOnce(answer: String) async throws {
    let server = try TunnelServer(["200", answer])
    let transport = transport(server)
    let other = try await open(.mute, transport, server)
    #expect(await active(transport) == [1])

    let response = try? await transport.send(handshake(server), in: Call())
    response?.stream?.close()

    try await until { await active(transport) != [2] }
    #expect(await active(transport) == [1])
    other.close()
    try await until { await active(transport) == [0] }
  }

  @Test func aRequestThatIsCancelledReleasesItsPlaceOnce() async throws {
    let server = try TunnelServer(["200", "wait"])
    let transport = transport(server)
    let other = try await open(.mute, transport, server)
    let call = Task { try await transport.send(handshake(server), in: Call()) }
    #expect(try await event(transport, server) == "asked")
    #expect(await active(transport) == [2])

    call.cancel()

    await #expect(throws: (any Error).self) { try await call.value }
    try await until { await active(transport) != [2] }
    #expect(await active(transport) == [1])
    other.close()
    try await until { await active(transport) == [0] }
  }

  /// It waited for the SETTINGS, which then do not allow it.
  @Test func aRequestThatTheSettingsDoNotAllowReleasesItsPlace() async throws {
    let server = try TunnelServer(settings: "3=100,late", tls: false)
    let transport = transport(server) { $0.versions = .http2PriorKnowledge }
    let error = await #expect(throws: HTTPError.self) { try await transport.send(handshake(server), in: Call()) }
    #expect(error?.kind == .invalidRequest)
    #expect(await active(transport) == [0])
  }

  @Test func aLostConnectionReleasesThePlacesOfItsStreams() async throws {
    let server = try TunnelServer(["200", "drop"])
    let transport = transport(server)
    let other = try await open(.mute, transport, server)
    var request = handshake(server)
    request.options.retryPolicy = .never
    let (lost, call) = (request, Call())

    await #expect(throws: HTTPError.self) { try await transport.send(lost, in: call) }

    #expect(await active(transport) == [0])
    await #expect(throws: HTTPError.self) { try await other.read() }
    #expect(try await ask(transport, server) == "ok")
    #expect(await active(transport) == [0])
    #expect(await opened(transport) == [2])
  }
}
#endif
