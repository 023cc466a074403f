#if os(Linux)
import Dispatch
import Foundation
@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletSockets

/// Unsolicited bytes on a connection that is about to be reused.
@Suite(.timeLimit(.minutes(5)))
struct ReuseTests {
  private let peer: ScriptedPeer
  private let transport: SocketTransport

  init() throws {
    peer = try ScriptedPeer()
    var configuration = ConnectionConfiguration()
    (configuration.proxy, configuration.connectionLimitPerHost) = (.direct, 1)
    transport = SocketTransport(configuration)
  }

  private func text(_ path: String) async throws -> String {
    var request = HTTPRequest(.post, try #require(URL(string: "http://127.0.0.1:\(peer.port)\(path)")))
    request.options.retryPolicy = .never
    let response = try await transport.send(request, in: Call())
    return String(decoding: try await response.body.collect(upTo: 1_000), as: UTF8.self)
  }

  private func response(_ text: String) -> String {
    "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
  }

  /// Stops the loop's thread within a turn, after it has checked for events.
  private func stopLoop() throws -> (isStopped: Gate, goOn: DispatchSemaphore) {
    let isStopped = Gate()
    let goOn = DispatchSemaphore(value: 0)
    try transport.thread.get().jobs.submit { _ in
      isStopped.open()
      goOn.wait()
    }
    return (isStopped, goOn)
  }

  /// Answers the request on the next connection.
  private func serveAnother(_ text: String) {
    let (peer, response) = (peer, response(text))
    Task {
      let connection = await peer.accept()
      await peer.receive(on: connection)
      await peer.send(response, on: connection)
    }
  }

  @Test func theNextWaiterGetsNoResponseThatCameBeforeItsRequest() async throws {
    let first = Task { try await text("/first") }
    let connection = await peer.accept()
    await peer.receive(on: connection)
    let second = Task { try await text("/second") }
    try await until { await transport.statistics().values.first?.queued == 1 }

    // one turn brings the response to the first, and ends only when there are more bytes
    let before = try stopLoop()
    try await before.isStopped.wait()
    await peer.send(response("first"), on: connection)
    let turn = try stopLoop()
    before.goOn.signal()
    try await turn.isStopped.wait()
    await peer.send(response("extra"), on: connection)
    serveAnother("second")
    turn.goOn.signal()

    #expect(try await first.value == "first")
    #expect(try await second.value == "second")
  }

  /// The loop's thread runs the first request's task after it has delivered the response. Bytes that arrive meanwhile
  /// are older than the second request, too.
  @Test func theNextWaiterGetsNoResponseThatCameWhileTheLastOneWasDelivered() async throws {
    let isDelivered = Gate()
    let goOn = DispatchSemaphore(value: 0)
    let first = Task(executorPreference: try transport.taskExecutor) {
      let text = try await text("/first")
      isDelivered.open()
      block(until: goOn)
      return text
    }
    let connection = await peer.accept()
    await peer.receive(on: connection)
    let second = Task { try await text("/second") }
    try await until { await transport.statistics().values.first?.queued == 1 }

    await peer.send(response("first"), on: connection)
    try await isDelivered.wait()
    await peer.send(response("extra"), on: connection)
    serveAnother("second")
    goOn.signal()

    #expect(try await first.value == "first")
    #expect(try await second.value == "second")
  }

  private func block(until semaphore: DispatchSemaphore) { semaphore.wait() }

  @Test(arguments: ["extra", ""]) func anIdleConnectionIsLookedAtOnceMoreBeforeItIsUsed(extra: String) async throws {
    let first = Task { try await text("/first") }
    let connection = await peer.accept()
    await peer.receive(on: connection)
    await peer.send(response("first"), on: connection)
    #expect(try await first.value == "first")
    try await until { await transport.statistics().values.first?.idle == 1 }

    // one turn takes the second request before there are bytes, or the end, and starts it afterwards
    let before = try stopLoop()
    try await before.isStopped.wait()
    let turn = try stopLoop()
    let executor = WatchedExecutor()
    let second = Task(executorPreference: executor) { try await text("/second") }
    try await executor.hasRun.wait()
    before.goOn.signal()
    try await turn.isStopped.wait()
    if extra.isEmpty { await peer.end(connection) } else { await peer.send(response(extra), on: connection) }
    serveAnother("second")
    turn.goOn.signal()

    #expect(try await second.value == "second")
  }

  /// The last bytes of each body may end the connection's turn, and the server answers at once.
  @Test func uploadsOfManySizesShareOneConnection() async throws {
    let server = try LoopbackServer { .text("\($0.body.count)") }
    for piece in stride(from: 1 << 16, through: 1 << 18, by: 1 << 12) {
      let size = 5 * piece
      var request = HTTPRequest(
        .put, server.url,
        body: .stream(length: Int64(size)) {
          AsyncStream { pieces in
            for _ in 0..<5 { pieces.yield(Data(count: piece)) }
            pieces.finish()
          }
        })
      request.options.retryPolicy = .never
      let response = try await transport.send(request, in: Call())
      #expect(String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self) == "\(size)")
    }
    #expect(server.connectionCount == 1)
  }
}

/// Runs a task, and reports its first suspension.
private final class WatchedExecutor: TaskExecutor {
  let hasRun = Gate()
  private let queue = DispatchQueue(label: "task")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      hasRun.open()
    }
  }
}

/// A server that acts as a test determines, step by step. Its system calls block their own threads.
private final class ScriptedPeer: Sendable {
  let port: Int
  private let listener: Int32

  init() throws {
    let loopback = SocketAddress(try #require(IPAddress("127.0.0.1")), port: 0)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let isBound = loopback.withSockaddr { bind(listener, $0, $1) } == 0 && listen(listener, 10) == 0
    try #require(isBound)
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
    }
    try #require(result == 0)
    self.listener = listener
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(listener) }

  private func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: work()) }
    }
  }

  func accept() async -> Int32 { await run { [listener] in Glibc.accept(listener, nil, nil) } }

  /// Receives a request without a body.
  func receive(on connection: Int32) async {
    await run {
      var bytes: [UInt8] = []
      var byte: UInt8 = 0
      while !bytes.ends(with: "\r\n\r\n".utf8), recv(connection, &byte, 1, 0) == 1 { bytes.append(byte) }
    }
  }

  func send(_ text: String, on connection: Int32) async {
    await run { _ = Glibc.send(connection, text, text.utf8.count, Int32(MSG_NOSIGNAL)) }
  }

  func end(_ connection: Int32) async { await run { _ = shutdown(connection, Int32(SHUT_WR)) } }
}

extension [UInt8] {
  fileprivate func ends(with end: some Collection<UInt8>) -> Bool { suffix(end.count).elementsEqual(end) }
}
#endif
