#if os(Linux)
import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// The bytes of WebSockets over streams of HTTP/2 (RFC 8441).
@Suite(.timeLimit(.minutes(5)))
struct HTTP2TunnelTests: TunnelTests {
  // MARK: - The connection

  @Test func aConnectionThatIsOpenIsShared() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.echo, transport, server)
    let other = try await open(.echo, transport, server)
    try await expectEcho(stream)
    try await expectEcho(other)
    #expect(try await event(transport, server) == "end")
    #expect(await opened(transport) == [1])
  }

  @Test func halfOfTheStreamsIsLeftToRequests() async throws {
    let server = try TunnelServer(settings: "3=4,8=1")
    let transport = transport(server) { $0.connectionLimitPerHost = 1 }
    let shared = [try await open(.echo, transport, server), try await open(.echo, transport, server)]
    var own: [any DuplexStream] = []
    for _ in 0..<3 {
      let response = try await transport.send(handshake(server), in: Call())
      #expect(response.status == .switchingProtocols)
      own.append(try #require(response.stream))
      #expect(try await ask(transport, server) == "ok")
    }
    for stream in shared { try await expectEcho(stream) }
    // with a stream free, the connection is shared again
    #expect(try await event(transport, server) == "end")
    #expect(try await event(transport, server) == "end")
    try await expectEcho(open(.echo, transport, server))
    withExtendedLifetime(own) {}
  }

  /// They all wait for the server's SETTINGS on one connection.
  @Test func webSocketsThatAreOpenedAtOnceLeaveStreamsToo() async throws {
    let server = try TunnelServer(settings: "3=4,8=1")
    let transport = transport(server) { $0.connectionLimitPerHost = 1 }
    async let connected: Void = transport.preconnect(to: server.url)
    try await until { await !transport.statistics().values.allSatisfy({ $0.opening + $0.idle == 0 }) }
    let responses = try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
      for _ in 0..<8 { group.addTask { try await transport.send(handshake(server), in: Call()) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    try await connected
    #expect(responses.count { $0.head.version == .http2 } == 2)
    #expect(responses.count { $0.status == .switchingProtocols } == 6)
    #expect(try await ask(transport, server) == "ok")
    withExtendedLifetime(responses) {}
  }

  @Test func withoutAConnectionHTTP1IsUsed() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let response = try await transport.send(handshake(server), in: Call())
    #expect(response.status == .switchingProtocols)
    let stream = try #require(response.stream)
    #expect(!stream.isShared)
    try await stream.write(Data("a".utf8))
    #expect(try await stream.read() == Data("a".utf8))
  }

  @Test func aConnectionThatIsBeingOpenedIsShared() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    async let connected: Void = transport.preconnect(to: server.url)
    try await until { await !transport.statistics().values.allSatisfy({ $0.opening + $0.idle == 0 }) }
    let response = try await transport.send(handshake(server), in: Call())
    #expect(response.head.version == .http2)
    try await connected
    #expect(await opened(transport) == [1])
  }

  @Test func aServerWithoutTheSettingGetsHTTP1() async throws {
    let server = try TunnelServer(settings: "3=100")
    let transport = transport(server)
    #expect(try await ask(transport, server) == "ok")
    for count in 2...3 {
      let response = try await transport.send(handshake(server), in: Call())
      #expect(response.status == .switchingProtocols)
      #expect(await opened(transport) == [count])
    }
  }

  /// RFC 8441 §3: the setting has to arrive first.
  @Test func nothingIsSentBeforeTheSettings() async throws {
    let server = try TunnelServer(settings: "8=1,late", tls: false)
    let transport = transport(server) { $0.versions = .http2PriorKnowledge }
    let response = try await transport.send(handshake(server), in: Call())
    let stream = try #require(response.stream)
    try await stream.write(Data("echo\n".utf8))
    try await expectEcho(stream)
    #expect(try await event(transport, server) == "end")
  }

  @Test func priorKnowledgeOpensAConnection() async throws {
    let server = try TunnelServer(tls: false)
    let transport = transport(server) { $0.versions = .http2PriorKnowledge }
    let response = try await transport.send(handshake(server), in: Call())
    #expect(response.head.version == .http2)
    let stream = try await open(.echo, transport, server)
    try await expectEcho(stream)
    #expect(await opened(transport) == [1])
  }

  @Test(arguments: ["3=100", "8=0"]) func priorKnowledgeOfAServerWithoutTheSettingFails(settings: String) async throws {
    let server = try TunnelServer(settings: settings, tls: false)
    let transport = transport(server) { $0.versions = .http2PriorKnowledge }
    let error = await #expect(throws: HTTPError.self) { try await transport.send(handshake(server), in: Call()) }
    #expect(error?.kind == .invalidRequest)
    #expect(error?.message.contains("SETTINGS_ENABLE_CONNECT_PROTOCOL") == true)
    #expect(try await ask(transport, server) == "ok")
  }

  @Test func aTunnelIsAStreamOfTheConnection() async throws {
    let server = try TunnelServer(settings: "8=1,3=2")
    let transport = transport(server)
    let stream = try await open(.echo, transport, server)
    #expect(try await ask(transport, server) == "ok")
    #expect(await opened(transport) == [1])
    #expect(await transport.statistics().values.map(\.active) == [1])
    stream.close()
    #expect(try await event(transport, server) == "reset 8")
    try await until { await transport.statistics().values.map(\.active) == [0] }
  }

  // MARK: - Answers

  @Test(arguments: ["405", "501 no", "reset 13", "reset 1"])
  func aServerThatDoesNotKnowTheMethodGetsHTTP1(answer: String) async throws {
    let server = try TunnelServer([answer, "200"])
    let transport = transport(server)
    #expect(try await ask(transport, server) == "ok")
    for _ in 0..<2 {
      let response = try await transport.send(handshake(server), in: Call())
      #expect(response.status == .switchingProtocols)
    }
    // all other requests still use HTTP/2
    #expect(try await transport.send(HTTPRequest(.get, server.url), in: Call()).head.version == .http2)
  }

  @Test(arguments: ["405 no", "501"]) func withPriorKnowledgeItsAnswerIsTheResponse(answer: String) async throws {
    let server = try TunnelServer([answer], tls: false)
    let transport = transport(server) { $0.versions = .http2PriorKnowledge }
    let response = try await transport.send(handshake(server), in: Call())
    #expect(answer.hasPrefix("\(response.status.code)"))
    #expect(response.stream == nil)
  }

  @Test func aRefusalIsAResponseWithItsBody() async throws {
    let server = try TunnelServer(["403 who are you"])
    let transport = transport(server)
    #expect(try await ask(transport, server) == "ok")
    let response = try await transport.send(handshake(server), in: Call())
    #expect(response.status == .forbidden)
    #expect(response.stream == nil)
    #expect(try await response.body.collect(upTo: 100) == Data("who are you".utf8))
    #expect(try await event(transport, server) == "reset 0")  // the rest of the request is not needed
    #expect(await opened(transport) == [1])
  }

  @Test(arguments: [("reset 7", HTTPError.Delivery.refused), ("reset 8", .unknown), ("drop", .staleConnection)])
  func aHandshakeThatIsLostIsAnError(_ answer: String, delivery: HTTPError.Delivery) async throws {
    let server = try TunnelServer([answer])
    let transport = transport(server)
    #expect(try await ask(transport, server) == "ok")
    var request = handshake(server)
    request.options.retryPolicy = .never
    let (lost, call) = (request, Call())
    let error = await #expect(throws: HTTPError.self) { try await transport.send(lost, in: call) }
    #expect(error?.kind == .connectionLost)
    #expect(error?.delivery == delivery)
  }

  @Test(arguments: ["goaway", "drop"]) func aHandshakeThatWasNotReadIsSentAgain(answer: String) async throws {
    let server = try TunnelServer([answer])
    let transport = transport(server)
    #expect(try await ask(transport, server) == "ok")
    #expect(try await transport.send(handshake(server), in: Call()).status == .switchingProtocols)
  }

  @Test func aHandshakeThatIsCancelledResetsItsStream() async throws {
    let server = try TunnelServer(["wait"])
    let transport = transport(server)
    #expect(try await ask(transport, server) == "ok")
    let call = Task { try await transport.send(handshake(server), in: Call()) }
    #expect(try await event(transport, server) == "asked")
    call.cancel()
    await #expect(throws: (any Error).self) { try await call.value }
    #expect(try await event(transport, server) == "reset 8")
  }

  // MARK: - Bytes

  @Test func whatIsWrittenAfterTheEndOfTheOtherDirectionArrives() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.once, transport, server)
    #expect(try await rest(of: stream) == Data("once".utf8))
    try await stream.write(Data("late ".utf8))
    try await stream.write(Data("words".utf8))
    stream.finish()
    #expect(try await event(transport, server) == "end")
    #expect(try await event(transport, server) == "late words")
    try await until { await transport.statistics().values.map(\.active) == [0] }
    #expect(await opened(transport) == [1])
  }

  /// The window of the stream is used up, that of the connection is not.
  @Test func aSlowReaderStallsNoOtherRequest() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.flood, transport, server)
    let upgrade = try #require(stream as? UpgradedStream).upgrade
    try await until { upgrade.input.isPaused }
    for _ in 0..<20 { #expect(try await ask(transport, server) == "ok") }
    try await expectEcho(open(.echo, transport, server))
    var data = Data()
    while data.count < 32 << 20, let bytes = try await stream.read() { data += bytes }
    #expect(data.count == 32 << 20)
    for block in 0..<(32 << 6) {
      let value = UInt8(block % 251)
      #expect(data[block << 14] == value && data[block << 14 | 0x3FFF] == value)
    }
    #expect(await opened(transport) == [1])
  }

  @Test func manySmallFramesOfASlowReaderAreJoined() async throws {
    let server = try TunnelServer()
    let transport = transport(server) { $0.readAhead = 64 << 10 }
    let stream = try await open(.crumbs, transport, server)
    let upgrade = try #require(stream as? UpgradedStream).upgrade
    try await until { upgrade.input.isPaused }
    for _ in 0..<20 { #expect(try await ask(transport, server) == "ok") }
    #expect(try await rest(of: stream) == Data(String(repeating: "ab", count: 25_000).utf8))
  }

  @Test func aSlowServerStopsTheWriterAndNoOtherRequest() async throws {
    let server = try TunnelServer()
    let transport = transport(server)
    let stream = try await open(.deaf, transport, server)
    #expect(try await event(transport, server) == "deaf")
    let writer = Task {
      for _ in 0..<64 { try await stream.write(Data(count: 64 << 10)) }
      stream.finish()
    }
    for _ in 0..<20 { #expect(try await ask(transport, server) == "ok") }
    try await expectEcho(open(.echo, transport, server))
    #expect(try await event(transport, server) == "end")  // of the echo
    let signal = try await open(.go, transport, server)
    try await writer.value
    signal.close()
    var events: Set<String> = []
    while !events.contains("\(4 << 20)") { events.insert(try await event(transport, server)) }
    #expect(events.contains("end"))
  }

  @Test func muchIsWrittenWhileItsEchoIsRead() async throws {
    let server = try TunnelServer()
    let stream = try await open(.echo, transport(server), server)
    let block = Data.counting(1 << 20)
    let writer = Task {
      for _ in 0..<8 { try await stream.write(block) }
      stream.finish()
    }
    let data = try await rest(of: stream)
    try await writer.value
    #expect(data.count == 6 + 8 << 20 + 4)
    #expect(data.dropFirst(6).prefix(1 << 20) == block)
    #expect(data.suffix(4) == Data(" bye".utf8))
  }
}
#endif
