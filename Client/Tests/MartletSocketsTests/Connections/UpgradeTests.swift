#if os(Linux)
import Foundation
@_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Connections that are no longer used for HTTP (RFC 9110 §7.8, §9.3.6).
@Suite(.timeLimit(.minutes(5)))
struct UpgradeTests {
  private let server: UpgradeServer
  private let transport: SocketTransport
  private let session: HTTPSession

  init() throws {
    server = try UpgradeServer()
    transport = Self.transport(of: server)
    session = HTTPSession(transport: transport)
  }

  private static func transport(
    of server: UpgradeServer, _ proxy: Proxy = .direct, perHost: Int? = nil, upgradesPerHost: Int? = nil
  ) -> SocketTransport {
    var configuration = ConnectionConfiguration.trusting(server.authority)
    configuration.proxy = proxy
    configuration.connectionLimitPerHost = perHost ?? configuration.connectionLimitPerHost
    configuration.webSocketLimitPerHost = upgradesPerHost ?? configuration.webSocketLimitPerHost
    configuration.poolTimeout = .seconds(60)
    return SocketTransport(configuration)
  }

  private func base(_ isSecure: Bool) -> URL { isSecure ? server.secure : server.plain }

  private func request(_ path: String, secure: Bool = false, body: RequestBody = .empty) -> HTTPRequest {
    HTTPRequest(
      body.isEmpty ? .get : .post, base(secure).appending(path: path), fields: [.upgrade: "echo"], body: body)
  }

  private func open(_ path: String, secure: Bool = false) async throws -> any DuplexStream {
    let response = try await session.data(for: request(path, secure: secure)).1
    #expect(response.status == .switchingProtocols)
    #expect(response.fields[.upgrade] == "echo")
    return try #require(response.stream)
  }

  /// Requests a text from the server, over a separate connection.
  private func ask(_ path: String) async throws -> String {
    let (data, _) = try await HTTPSession(transport: SocketTransport())
      .data(for: HTTPRequest(.get, server.plain.appending(path: path)))
    return String(decoding: data, as: UTF8.self)
  }

  private func rest(of stream: any DuplexStream) async throws -> Data {
    var data = Data()
    while let bytes = try await stream.read() { data += bytes }
    #expect(try await stream.read() == nil)
    return data
  }

  private func expectEcho(_ stream: any DuplexStream) async throws {
    try await stream.write(Data("a".utf8))
    var text = ""
    while text != "hello a" { text += String(decoding: try #require(try await stream.read()), as: UTF8.self) }
    try await stream.write(Data("bc".utf8))
    stream.finish()
    #expect(try await rest(of: stream) == Data("bc bye".utf8))
    let error = await #expect(throws: HTTPError.self) { try await stream.write(Data("d".utf8)) }
    #expect(error?.kind == .connectionLost)
  }

  // MARK: - Bytes

  @Test(arguments: [false, true]) func writesAndReadsInTurnsGetEachAnswerOnce(secure: Bool) async throws {
    let stream = try await open("echo", secure: secure)
    var unread = Data("hello ".utf8)
    func expect(_ bytes: Data) async throws {
      unread += bytes
      while !unread.isEmpty {
        let read = try #require(try await stream.read())
        #expect(unread.starts(with: read))
        unread = Data(unread.dropFirst(read.count))
      }
    }

    for number in 0..<200 {
      try await stream.write(Data("\(number);".utf8))
      try await expect(Data("\(number);".utf8))
    }
    // Now no answer is read between the writes.
    for _ in 0..<3 { try await stream.write(Data("again".utf8)) }
    try await expect(Data("againagainagain".utf8))

    stream.finish()
    #expect(try await rest(of: stream) == Data(" bye".utf8))
  }

  @Test(arguments: [false, true]) func bytesGoToAndFro(secure: Bool) async throws {
    try await expectEcho(open("echo", secure: secure))
    _ = try await ask("ended")
  }

  @Test func aStreamGoesThroughTheTunnelOfAProxy() async throws {
    let (proxy, folder) = try tinyproxy()
    defer { withExtendedLifetime((proxy, folder)) {} }
    let transport = Self.transport(of: server, .http("127.0.0.1", port: proxy.port))
    let response = try await transport.send(request("echo", secure: true), in: Call())
    try await expectEcho(#require(response.stream))
  }

  @Test func aProxyMakesATunnelForAnUpgradeWithoutTLS() async throws {
    let (proxy, folder) = try tinyproxy()
    defer { withExtendedLifetime((proxy, folder)) {} }
    let transport = Self.transport(of: server, .http("127.0.0.1", port: proxy.port))
    let response = try await transport.send(request("echo"), in: Call())
    let stream = try #require(response.stream)
    try await stream.write(Data("a".utf8))
    var text = ""
    while text != "hello a" { text += String(decoding: try #require(try await stream.read()), as: UTF8.self) }
    stream.close()  // this proxy ends both directions with one
    _ = try await ask("ended")
  }

  @Test func aTunnelIsAStream() async throws {
    let (proxy, folder) = try tinyproxy()
    defer { withExtendedLifetime((proxy, folder)) {} }
    let transport = Self.transport(of: server, .http("127.0.0.1", port: proxy.port))
    let response = try await transport.send(HTTPRequest("CONNECT", server.plain), in: Call())
    #expect(response.status.isSuccessful)
    let stream = try #require(response.stream)
    try await stream.write(Data("GET /echo HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\n\r\n".utf8))
    var text = ""
    while !text.hasSuffix("hello ") { text += String(decoding: try #require(try await stream.read()), as: UTF8.self) }
    #expect(text.hasPrefix("HTTP/1.1 101 "))
    try await stream.write(Data("a".utf8))
    #expect(try await stream.read() == Data("a".utf8))
    stream.close()
    _ = try await ask("ended")
  }

  /// RFC 9110 §9.3.6: its `Content-Length` is ignored.
  @Test func theAnswerToConnectHasNoBody() async throws {
    let port = try #require(server.plain.port)
    let transport = Self.transport(of: server, .http("127.0.0.1", port: port))
    let response = try await transport.send(HTTPRequest("CONNECT", server.plain), in: Call())
    #expect(response.fields[.contentLength] == "1")
    #expect(response.body.length == 0)
    #expect(try await response.body.collect(upTo: 10).isEmpty)
    let stream = try #require(response.stream)
    try await stream.write(Data("abc".utf8))
    stream.finish()
    #expect(try await rest(of: stream) == Data("abc bye".utf8))
  }

  /// HTTP/2 supports neither (RFC 9113 §8.6, §8.5): nothing is dropped silently.
  @Test(arguments: [false, true]) func overHTTP2AnUpgradeIsRefused(secure: Bool) async throws {
    var configuration = ConnectionConfiguration()
    configuration.versions = .http2PriorKnowledge
    configuration.tls.authorities = server.authority.certificate
    let transport = SocketTransport(configuration)
    for request in [request("echo", secure: secure), HTTPRequest("CONNECT", base(secure))] {
      let error = await #expect(throws: HTTPError.self) { try await transport.send(request, in: Call()) }
      #expect(error?.kind == .invalidRequest)
      #expect(error?.message.contains("set versions to .automatic or .http1") == true)
    }
  }

  private func tinyproxy() throws -> (RealProcess, TemporaryFolder) {
    let folder = try TemporaryFolder(), port = try LocalPort.free()
    try folder.write(Data("Port \(port)\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\n".utf8), to: "tinyproxy.conf")
    return (try RealProcess("tinyproxy", ["-d", "-c", folder.file("tinyproxy.conf").path], port: port), folder)
  }

  @Test(arguments: [false, true]) func whatIsWrittenAfterTheEndOfTheOtherDirectionArrives(secure: Bool) async throws {
    let stream = try await open("once", secure: secure)
    #expect(try await rest(of: stream) == Data("once".utf8))
    try await stream.write(Data("late ".utf8))
    try await stream.write(Data("words".utf8))
    stream.finish()
    #expect(try await ask("received") == "late words")
  }

  @Test(arguments: [false, true]) func whatWaitsForTheNetworkAtTheEndArrives(secure: Bool) async throws {
    let stream = try await open("later", secure: secure)
    #expect(try await rest(of: stream) == Data("once".utf8))
    try await stream.write(Data(repeating: 97, count: 4 << 20))
    stream.finish()
    _ = try await ask("go")
    #expect(try await ask("received") == String(repeating: "a", count: 4 << 20))
    withExtendedLifetime(stream) {}
  }

  @Test(arguments: [false, true]) func aSlowReaderStopsTheServer(secure: Bool) async throws {
    let stream = try await open("flood", secure: secure)
    let upgrade = try #require(stream as? UpgradedStream).upgrade
    // a condition: the server sends more than the reader's room
    try await until { upgrade.input.isPaused }
    var data = Data()
    while data.count < 32 << 20, let bytes = try await stream.read() {
      #expect(bytes.count <= 128 << 10)
      data += bytes
    }
    #expect(data.count == 32 << 20)
    for block in 0..<(32 << 6) {
      let value = UInt8(block % 251)
      #expect(data[block << 14] == value && data[block << 14 | 0x3FFF] == value)
    }
  }

  @Test(arguments: [false, true]) func muchIsWrittenWhileItsEchoIsRead(secure: Bool) async throws {
    let stream = try await open("echo", secure: secure)
    let block = Data.counting(1 << 20)
    let writer = Task {
      for _ in 0..<16 { try await stream.write(block) }
      stream.finish()
    }
    let data = try await rest(of: stream)
    try await writer.value
    #expect(data.count == 6 + 16 << 20 + 4)
    #expect(data.dropFirst(6).prefix(1 << 20) == block)
    #expect(data.suffix(4) == Data(" bye".utf8))
  }

  // MARK: - Ends

  @Test(arguments: [("reset", false), ("reset", true), ("cut", true)])
  func aLostConnectionIsAnError(_ path: String, secure: Bool) async throws {
    let stream = try await open(path, secure: secure)
    try? await stream.write(Data("a".utf8))  // which may see the loss already
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await stream.read() }
      #expect(error?.kind == .connectionLost)
    }
    let error = await #expect(throws: HTTPError.self) { try await stream.write(Data("a".utf8)) }
    #expect(error?.kind == .connectionLost)
  }

  @Test(arguments: [false, true]) func aConnectionLostAfterTheEndOfTheOtherDirectionIsAnError(secure: Bool) async throws
  {
    let stream = try await open("lost", secure: secure)
    #expect(try await rest(of: stream) == Data("once".utf8))
    // more than the system accepts, so that output is pending
    let writer = Task { while true { try await stream.write(Data(count: 64 << 20)) } }
    _ = try await ask("go")
    let error = await #expect(throws: HTTPError.self) { try await writer.value }
    #expect(error?.kind == .connectionLost)
  }

  @Test(arguments: [false, true]) func closingEndsBothDirections(secure: Bool) async throws {
    let stream = try await open("echo", secure: secure)
    let reader = Task { while try await stream.read() != nil {} }
    stream.close()
    await #expect(throws: CancellationError.self) { try await reader.value }
    await #expect(throws: CancellationError.self) { try await stream.read() }
    await #expect(throws: CancellationError.self) { try await stream.write(Data("a".utf8)) }
    stream.finish()
    _ = try await ask("ended")
  }

  @Test func aReadEndsWhenTheStreamIsClosed() async throws {
    let stream = try await open("echo")
    let reader = Task { while try await stream.read() != nil {} }
    stream.close()
    await #expect(throws: CancellationError.self) { try await reader.value }
    _ = try await ask("ended")
  }

  @Test func aCancelledWriteClosesTheStream() async throws {
    let stream = try await open("once")
    let writer = Task { while true { try await stream.write(Data(count: 1 << 16)) } }
    writer.cancel()
    await #expect(throws: CancellationError.self) { try await writer.value }
    _ = try await ask("ended")
  }

  @Test func aReleasedStreamIsClosed() async throws {
    do { _ = try await open("echo") }
    _ = try await ask("ended")
  }

  @Test func aRequestThatIsCancelledBeforeTheAnswerLeavesNoConnection() async throws {
    let call = Task { try await open("late") }
    _ = try await ask("asked")
    call.cancel()
    await #expect(throws: HTTPError.self) { try await call.value }
    _ = try await ask("go")
    _ = try await ask("ended")
  }

  // MARK: - ToolEnvironment

  @Test func aStreamOutlivesItsTransport() async throws {
    var transport: SocketTransport? = Self.transport(of: server)
    let stream = try #require(try await transport?.send(request("echo"), in: Call()).stream)
    transport = nil
    try await expectEcho(stream)
  }

  @Test(arguments: [false, true]) func anOpenStreamTakesNoPlaceOfRequests(secure: Bool) async throws {
    let session = HTTPSession(transport: Self.transport(of: server, perHost: 1))
    var streams: [any DuplexStream] = []
    for _ in 0..<3 {
      streams.append(try #require(try await session.data(for: request("echo", secure: secure)).1.stream))
      #expect(try await session.data(for: HTTPRequest(.get, base(secure).appending(path: "go"))).1.status == .ok)
    }
    for stream in streams { try await expectEcho(stream) }
  }

  @Test func streamsHaveALimitOfTheirOwn() async throws {
    let transport = Self.transport(of: server, upgradesPerHost: 1)
    let first = try #require(try await transport.send(request("echo"), in: Call()).stream)
    let server = server
    async let second = transport.send(request("echo"), in: Call())
    _ = try await ask("ended", after: { first.close() })
    try await expectEcho(#require(try await second.stream))
    withExtendedLifetime(server) {}
  }

  private func ask(_ path: String, after action: () -> Void) async throws -> String {
    action()
    return try await ask(path)
  }

  @Test func anAnswerWithoutAnUpgradeHasNoStream() async throws {
    let server = try LoopbackServer { _ in .text("no") }
    let request = HTTPRequest(.get, server.url, fields: [.upgrade: "echo"])
    for _ in 0..<2 {
      let (data, response) = try await session.data(for: request)
      #expect(data == Data("no".utf8))
      #expect(response.stream == nil)
    }
    #expect(server.connectionCount == 1)
  }

  @Test func anUpgradeWithinTheRequestIsAViolation() async throws {
    let (bytes, sender) = AsyncStream<Data>.makeStream()
    sender.yield(Data("a".utf8))
    let request = request("echo", body: .stream { bytes })
    let error = await #expect(throws: HTTPError.self) { try await transport.send(request, in: Call()) }
    #expect(error?.kind == .protocolViolation)
    sender.finish()
  }
}
#endif
