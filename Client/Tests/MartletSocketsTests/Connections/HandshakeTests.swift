#if os(Linux)
import Dispatch
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// TLS handshakes on threads that a test holds back, so that it decides what happens during a step.
@Suite(.timeLimit(.minutes(5)))
struct HandshakeTests {
  private let nginx: Nginx
  private let threads = WorkerThreads("martlet-handshakes", limit: 1)

  init() throws { nginx = try Nginx.shared.get() }

  private func transport(
    trusting authority: URL? = nil, _ change: (inout ConnectionConfiguration) -> Void = { _ in }
  ) -> SocketTransport {
    var connection = ConnectionConfiguration()
    connection.versions = .http1
    connection.proxy = .direct
    connection.tls.authorities = authority ?? nginx.authority.certificate
    connection.connectionLimitPerHost = 64
    change(&connection)
    var options = SocketTransport.Options()
    options.handshakeThreads = threads
    return SocketTransport(connection, options: options)
  }

  private func text(_ transport: SocketTransport, _ url: URL) async throws -> String {
    let response = try await transport.send(HTTPRequest(.get, url), in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  /// Work that occupies the thread until it is released, after the steps that waited before it.
  private final class Hold: Sendable {
    private let begun = Atomic(false)
    private let end = DispatchSemaphore(value: 0)

    init(_ threads: WorkerThreads) {
      threads.submit { [self] in
        begun.store(true, ordering: .relaxed)
        end.wait()
      }
    }

    var hasBegun: Bool { begun.load(ordering: .relaxed) }
    func release() { end.signal() }
  }

  /// Occupies the thread.
  private func hold() async throws -> Hold {
    let hold = Hold(threads)
    try await until { hold.hasBegun }
    return hold
  }

  // MARK: - Other requests

  @Test func requestsOverAnOpenConnectionAreAnsweredDuring64Handshakes() async throws {
    let server = try LoopbackServer { _ in .text("plain") }
    let transport = transport(), finished = Count(), held = try await hold()
    #expect(try await text(transport, server.url) == "plain")
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<64 {
        group.addTask {
          defer { finished.increase() }
          return try await text(transport, nginx.tls("/hello.txt"))
        }
      }
      try await until { threads.waiting == 64 || finished.value > 0 }
      for _ in 0..<100 { #expect(try await text(transport, server.url) == "plain") }
      #expect(finished.value == 0)
      #expect(server.requests.map(\.connection).max() == 1)
      held.release()
      for try await text in group { #expect(text == "hello") }
    }
  }

  @Test func aServerThatResumesASessionNeedsNoThread() async throws {
    let transport = transport()
    for _ in 0..<20 { #expect(try await text(transport, nginx.brief("/hello.txt")) == "hello") }
    // the server has ended the connection
    let held = try await hold()
    defer { held.release() }
    #expect(try await text(transport, nginx.brief("/hello.txt")) == "hello")
    let origin = try #require(Origin(nginx.brief("/")))
    #expect(await transport.statistics()[origin]?.opened == 2)
  }

  // MARK: - Ends during a step

  @Test func theTimeForConnectingEndsDuringAStep() async throws {
    let transport = transport { $0.connectTimeout = .milliseconds(50) }, held = try await hold()
    let error = await #expect(throws: HTTPError.self) { _ = try await text(transport, nginx.tls("/hello.txt")) }
    #expect(error?.kind == .connectTimeout)
    held.release()
    try await until { threads.waiting == 0 }  // the step of the closed connection
  }

  @Test func aRequestIsCancelledDuringAStep() async throws {
    let transport = transport(), held = try await hold()
    let task = Task { try await text(transport, nginx.tls("/hello.txt")) }
    try await until { threads.waiting == 1 }
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
    #expect(error?.isCancelled == true)
    #expect(error?.isUnsent == true)
    held.release()
    #expect(try await text(transport, nginx.tls("/hello.txt")) == "hello")
  }

  @Test func aTransportEndsDuringAStep() async throws {
    let server = try HandshakeServer(), held = try await hold()
    let (target, authority) = (server.url, server.authority)
    let task = Task { try await text(transport(trusting: authority), target) }
    try await until { threads.waiting == 1 && server.accept() }
    task.cancel()
    _ = try? await task.value
    try await until { server.hasEnded() }
    held.release()
    try await until { threads.waiting == 0 }
  }

  @Test func aConnectionThatEndsDuringTheFirstStepFailsAfterIt() async throws {
    let server = try LoopbackServer(accept: { _ in .close }) { _ in .text("plain") }
    let other = try LoopbackServer { _ in .text("other") }
    // Without files, which would be looked at before the first step.
    let transport = transport { $0.tls.authorities = nil }, held = try await hold()
    let target = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    let task = Task { try await text(transport, target) }
    try await until { threads.waiting == 1 }
    _ = try await server.end(ofConnection: 1)
    _ = try await text(transport, other.url)  // the loop has received the end
    held.release()
    let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
    #expect(error?.kind == .tlsFailed && error?.phase == .securing)
    #expect(error?.message.contains("the server closed the connection before it answered") == true)
  }

  /// The end arrives while the files of the TLS settings are looked at, or a moment later.
  @Test func aConnectionThatEndsBeforeTheFirstStepFails() async throws {
    let server = try LoopbackServer(accept: { _ in .close }) { _ in .text("plain") }
    let transport = transport()
    let target = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
    for _ in 0..<20 {
      let error = await #expect(throws: HTTPError.self) { _ = try await text(transport, target) }
      #expect(error?.kind == .tlsFailed || error?.kind == .connectionLost)
      #expect(error?.phase == .securing && error?.isUnsent == true)
    }
  }

  // MARK: - Bytes during a step

  /// The server's part of the handshake arrives in two pieces, the second one while a thread works on the first.
  @Test func bytesThatArriveDuringAStepAreForTheNext() async throws {
    let (server, transport, held, task) = try await connectionWithHalfOfAnAnswer()
    try server.send(server.rest)
    try await passTurn(of: transport)
    held.release()
    try await until { try server.receivesRequest() }
    try server.respond("over two pieces")
    #expect(try await task.value == "over two pieces")
  }

  @Test(arguments: [false, true])
  func anEndThatArrivesDuringAStepIsReportedAfterIt(isReset: Bool) async throws {
    let (server, transport, held, task) = try await connectionWithHalfOfAnAnswer()
    if isReset { server.reset() } else { server.finish() }
    try await passTurn(of: transport)
    held.release()
    let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
    #expect(error?.message.contains("the server closed the connection during the handshake") == true)
  }

  /// The server's certificates have been refused before the end, but they are not its reason.
  @Test func theChecksAreNotCalledForAHandshakeThatFailsForAnotherReason() async throws {
    let server = try HandshakeServer(), target = server.url, checks = Count()
    let transport = transport {
      $0.tls.serverTrustCheck = { _, _ in checks.increase() }
      $0.tls.acceptsRefusedServer = { _, _ in
        checks.increase()
        return true
      }
    }
    let task = Task { try await text(transport, target) }
    try await until { server.accept() }
    try await until { try server.receivesHello() }
    try server.send(server.half)
    try server.send(server.rest.dropLast(8))
    server.finish()

    let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("the server closed the connection during the handshake") == true)
    #expect(checks.value == 0)
  }

  @Test func theEndAfterTheWholeAnswerIsReportedAfterTheStep() async throws {
    let (server, transport, held, task) = try await connectionWithHalfOfAnAnswer()
    try server.send(server.rest)
    server.finish()
    try await passTurn(of: transport)
    held.release()
    let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
    #expect(error?.kind == .connectionLost || error?.kind == .tlsFailed)
  }

  @Test func manyHandshakesAndRequestsShareTheThreads() async throws {
    let plain = try LoopbackServer(recording: .nothing) { _ in .text("plain") }
    let transports = (0..<4).map { _ in transport() }
    try await withThrowingTaskGroup(of: [(String, String)].self) { group in
      for transport in transports {
        for _ in 0..<16 {
          group.addTask { [(try await text(transport, nginx.tls("/hello.txt")), "hello")] }
          group.addTask {
            var texts: [(String, String)] = []
            for _ in 0..<20 { texts.append((try await text(transport, plain.url), "plain")) }
            return texts
          }
        }
      }
      for try await texts in group { for (text, expected) in texts { #expect(text == expected) } }
    }
    try await until { threads.waiting == 0 }
  }

  /// A request whose handshake has got a half of the server's part, with the step that computes it held back.
  private func connectionWithHalfOfAnAnswer() async throws -> (
    HandshakeServer, SocketTransport, Hold, Task<String, any Error>
  ) {
    let server = try HandshakeServer(), first = try await hold()
    let transport = transport(trusting: server.authority), target = server.url
    let task = Task { try await text(transport, target) }
    try await until { threads.waiting == 1 }
    let second = Hold(threads)
    first.release()
    try await until { server.accept() }
    try await until { try server.receivesHello() }
    try await until { second.hasBegun }
    try server.send(server.half)
    try await until { threads.waiting == 1 }
    return (server, transport, second, task)
  }

  private final class Count: Sendable {
    private let count = Atomic(0)
    var value: Int { count.load(ordering: .relaxed) }
    func increase() { count.add(1, ordering: .relaxed) }
  }

  /// Returns when the loop has received what was sent before.
  private func passTurn(of transport: SocketTransport) async throws {
    let server = try LoopbackServer { _ in .text("turn") }
    #expect(try await text(transport, server.url) == "turn")
  }
}
#endif
