#if os(Linux)
import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The ends of WebSockets over streams of HTTP/2: by the client, by the server, and by a loss.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2TunnelEndTests: TunnelTests {
  @Test(arguments: [TunnelServer.Command.reset, .cut, .fields]) func aLostStreamIsAnError(
    command: TunnelServer.Command
  ) async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(command, transport, server)
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await stream.read() }
      #expect(error?.kind == (command == .fields ? .protocolViolation : .connectionLost))
    }
    await #expect(throws: HTTPError.self) { try await stream.write(Data("a".utf8)) }
    #expect(try await ask(transport, server) == "ok")
    #expect(await opened(transport) == [command == .cut ? 2 : 1])
  }

  @Test func aStreamThatTheServerLeavesEndsAndTakesNoMore() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.leave, transport, server)
    #expect(try await rest(of: stream).isEmpty)
    let error = await #expect(throws: HTTPError.self) { while true { try await stream.write(Data(count: 10_000)) } }
    #expect(error?.kind == .connectionLost)
    #expect(try await ask(transport, server) == "ok")
  }

  @Test func aStreamOutlivesAGoAway() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.goAway, transport, server)
    #expect(try await stream.read() == Data("hello ".utf8))
    #expect(try await ask(transport, server) == "ok")
    #expect(await opened(transport) == [2])
    try await expectEcho(stream, hello: "")
    try await until { await transport.statistics().values.map({ $0.active + $0.idle }) == [1] }
  }

  @Test func closingResetsTheStream() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.echo, transport, server)
    let reader = Task { while try await stream.read() != nil {} }
    stream.close()
    await #expect(throws: CancellationError.self) { try await reader.value }
    await #expect(throws: CancellationError.self) { try await stream.read() }
    await #expect(throws: CancellationError.self) { try await stream.write(Data("a".utf8)) }
    stream.finish()
    #expect(try await event(transport, server) == "reset 8")
    #expect(await opened(transport) == [1])
  }

  @Test func aCancelledWriteResetsTheStream() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.deaf, transport, server)
    #expect(try await event(transport, server) == "deaf")
    let writer = Task { while true { try await stream.write(Data(count: 1 << 16)) } }
    for _ in 0..<20 { #expect(try await ask(transport, server) == "ok") }
    writer.cancel()
    await #expect(throws: CancellationError.self) { try await writer.value }
    #expect(try await event(transport, server) == "reset 8")
  }

  @Test func aReleasedStreamIsReset() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    do { _ = try await open(.mute, transport, server) }
    #expect(try await event(transport, server) == "reset 8")
  }

  /// What was written before the end is sent, although the user has left.
  @Test func aStreamIsClosedInOrderAfterItsEnd() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.once, transport, server)
    try await stream.write(Data(repeating: 97, count: 300_000))
    stream.finish()
    stream.close()
    #expect(try await event(transport, server) == "end")
    #expect(try await event(transport, server) == String(repeating: "a", count: 300_000))
    try await until { await transport.statistics().values.map(\.active) == [0] }
    #expect(try await ask(transport, server) == "ok")
  }

  /// The window is used up when the server ends its direction, and grows afterwards.
  @Test func whatWasWrittenBeforeLeavingIsSentAfterTheServersEnd() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.part, transport, server)
    #expect(try await event(transport, server) == "deaf")
    try await stream.write(Data(count: 100_000))
    stream.leave()
    #expect(try await event(transport, server) == "reset 8")
    #expect(try await event(transport, server) == "100000")
    try await until { await transport.statistics().values.map(\.active) == [0] }
  }

  @Test func aServerThatDoesNotEndAStreamLosesIt() async throws {
    let server = try TunnelServer()
    let transport = transport(server, lingeringTime: .milliseconds(10))
    let stream = try await open(.mute, transport, server)
    stream.finish()
    stream.close()
    #expect(try await event(transport, server) == "end")
    #expect(try await event(transport, server) == "reset 8")
    #expect(try await ask(transport, server) == "ok")
    try await until { await transport.statistics().values.map(\.active) == [0] }
  }

  @Test func aStreamOutlivesItsTransport() async throws {
    let server = try TunnelServer()
    var transport: SocketTransport? = transport(server)
    let stream = try await open(.echo, #require(transport), server)
    transport = nil
    try await expectEcho(stream)
  }
}
#endif
