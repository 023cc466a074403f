#if os(Linux)
import Foundation
import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import MartletSockets

/// Features and promises of the transport over sockets alone.
@Suite(.timeLimit(.minutes(5)))
struct SocketTransportTests {
  private func text(_ transport: SocketTransport, _ request: HTTPRequest) async throws -> String {
    let response = try await transport.send(request, in: Call())
    return String(decoding: try await response.body.collect(upTo: 1 << 20), as: UTF8.self)
  }

  private func failure(_ transport: SocketTransport, _ request: HTTPRequest) async throws -> HTTPError {
    let error = await #expect(throws: (any Error).self) { _ = try await text(transport, request) }
    return HTTPError(wrapping: try #require(error))
  }

  /// Each byte is sent after the echo of the last one has arrived: nothing waits for more, in either direction.
  @Test func bothDirectionsGoOnAtOnce() async throws {
    let server = try EchoServer()
    let (chunks, sender) = AsyncStream.makeStream(of: Data.self)
    sender.yield(Data([0]))
    let request = HTTPRequest(.post, server.url, body: .stream { chunks })

    let response = try await SocketTransport().send(request, in: Call())
    var received: [UInt8] = []
    for try await chunk in response.body {
      received += chunk
      if received.count < 200 { sender.yield(Data([UInt8(received.count)])) } else { sender.finish() }
    }

    #expect(received == (0..<200).map { UInt8($0) })
  }

  /// Around the sizes of the memory into which bodies are received: all at once, and in pieces.
  @Test(
    arguments: [1, 1000, 65_535, 65_536, 131_071, 131_072, 131_073, 262_144, 300_000, 1_048_576, 1_500_000] as [Int64])
  func bodiesOfKnownLengthAreWhole(length: Int64) async throws {
    let pattern = Data((0..<251).map { UInt8($0) })
    let server = try LoopbackServer { request in
      let reply = Reply.repeating(pattern, length: length)
      return request.path == "/pieces" ? reply.dripped(40_000, every: .zero) : reply
    }
    let expected = Data.counting(Int(length))
    let session = HTTPSession(transport: SocketTransport())
    for path in ["/", "/pieces"] {
      let request = HTTPRequest(.get, server.url(path))
      #expect(try await session.data(for: request).0 == expected, "collected")
      var streamed = Data()
      for try await chunk in try await session.bytes(for: request).0 { streamed += chunk }
      #expect(streamed == expected, "streamed")
    }
    #expect(server.connectionCount == 1)
  }

  @Test func tasksRunOnTheTransportsThread() async throws {
    let server = try LoopbackServer { request in .text(request.path) }
    let transport = SocketTransport()
    let texts = try await withTaskExecutorPreference(transport.taskExecutor) {
      try await withThrowingTaskGroup(of: String.self) { group in
        for number in 0..<100 {
          group.addTask {
            #expect(threadName() == "martlet-sockets")
            let text = try await text(transport, HTTPRequest(.get, server.url("/\(number)")))
            #expect(threadName() == "martlet-sockets")
            return text
          }
        }
        return try await group.reduce(into: []) { $0.insert($1) } as Set<String>
      }
    }
    #expect(texts == Set((0..<100).map { "/\($0)" }))
    #expect(threadName() != "martlet-sockets")
  }

  /// The executor retains the thread, and the task retains the executor.
  @Test func aTaskOnTheThreadOutlivesTheTransport() async throws {
    let executor = try SocketTransport().taskExecutor
    let task = Task(executorPreference: executor) {
      await Task.yield()
      return threadName()
    }
    #expect(await task.value == "martlet-sockets")
  }

  @Test func aTransportThatCannotBeStartedHasNoExecutor() {
    var options = SocketTransport.Options()
    options.localAddress = "nowhere"
    #expect(throws: HTTPError.self) { try SocketTransport(options: options).taskExecutor }
  }

  @Test func equalBeginningsOfURLsAreNotTakenForTheSameOrigin() async throws {
    let server = try LoopbackServer { request in .text(request.fields[.host] ?? "") }
    var options = SocketTransport.Options()
    options.addresses = ["a.example": ["127.0.0.1"], "b.example": ["127.0.0.1"], "a.example.b.example": ["127.0.0.1"]]
    let transport = SocketTransport(options: options)
    for host in ["a.example", "b.example", "a.example", "a.example.b.example", "a.example"] {
      for rest in ["/", "?a=b", "", "/x@b.example"] {
        let request = HTTPRequest(.get, url("http://\(host):\(server.port)\(rest)"))
        #expect(try await text(transport, request) == "\(host):\(server.port)")
      }
    }
    let request = HTTPRequest(.get, url("http://a.example:\(server.port)@b.example:\(server.port)/"))
    #expect(try await text(transport, request) == "b.example:\(server.port)")
  }

  @Test func aUnixSocketTakesThePlaceOfEveryHost() async throws {
    let server = try EchoServer()
    var options = SocketTransport.Options()
    options.unixSocket = server.path
    let request = HTTPRequest(.post, url("http://a.example/"), body: .stream { AsyncStream<Data>.one("hello") })
    #expect(try await text(SocketTransport(options: options), request) == "hello")
  }

  @Test func aHostCanBeGivenAnAddress() async throws {
    let server = try LoopbackServer { request in .text(request.fields[.host] ?? "") }
    var options = SocketTransport.Options()
    options.addresses = ["a.example": ["127.0.0.1"]]
    let request = HTTPRequest(.get, url("http://a.example:\(server.port)/"))
    #expect(try await text(SocketTransport(options: options), request) == "a.example:\(server.port)")
  }

  /// The openings fail at once, each for one request.
  @Test func manyRequestsToAnAddressThatIsNotAllowedFail() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    var configuration = ConnectionConfiguration()
    configuration.addressPolicy = .publicAddresses
    let transport = SocketTransport(configuration)
    await withTaskGroup(of: HTTPError.Kind?.self) { group in
      for _ in 0..<2000 {
        group.addTask { try? await failure(transport, HTTPRequest(.get, server.url)).kind }
      }
      for await kind in group { #expect(kind == .addressRefused) }
    }
    #expect(server.connectionCount == 0)
  }

  @Test func aRequestThatWaitsForAConnectionSaysSo() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in request.path == "/held" ? .text("ok").held(by: gate) : .text("ok") }
    var configuration = ConnectionConfiguration()
    configuration.connectionLimitPerHost = 1
    let transport = SocketTransport(configuration)
    let held = Task { try await text(transport, HTTPRequest(.get, server.url("/held"))) }
    _ = try await server.request(1)
    var request = HTTPRequest(.get, server.url("/next"))
    request.options.responseTimeout = .milliseconds(50)

    let error = try await failure(transport, request)

    #expect(error.kind == .responseTimeout)
    #expect(error.message.contains("all of 1 connections to 127.0.0.1:\(server.port) were in use"))
    gate.open()
    #expect(try await held.value == "ok")
    #expect(try await text(transport, HTTPRequest(.get, server.url("/after"))) == "ok")
    #expect(server.connectionCount == 1)
  }

  /// No signal ends the process when a write goes to a connection that the peer has closed.
  @Test func aClosedConnectionRaisesNoSignal() async throws {
    await #expect(processExitsWith: .success) {
      signal(SIGPIPE, SIG_DFL)
      let server = try LoopbackServer(bodies: .streamed) { _ in .reset }
      for _ in 0..<20 {
        let request = HTTPRequest(.post, server.url, body: .data(Data(count: 4 << 20)))
        do { _ = try await SocketTransport().send(request, in: Call()) } catch { continue }
      }
    }
  }

  /// The connection waits for the check, and is used after it.
  @Test func aCheckOfTheServerCostsNoSecondConnection() async throws {
    let server = try LoopbackServer.numberingConnections()
    let checks = Mutex<[ServerTrust]>([])
    var configuration = ConnectionConfiguration.trusting(server)
    configuration.tls.serverTrustCheck = { trust, _ in checks.withLock { $0.append(trust) } }
    let transport = SocketTransport(configuration)

    for _ in 0..<3 { #expect(try await text(transport, HTTPRequest(.get, server.url)) == "1") }

    #expect(checks.withLock { $0.map(\.isTrusted) } == [true])
    #expect(checks.withLock { $0.first?.certificates.isEmpty } == false)
  }

  @Test func aRefusedServerIsShownToTheCheckWithItsCertificates() async throws {
    let server = try LoopbackServer.numberingConnections()
    let checks = Mutex<[ServerTrust]>([])
    var configuration = ConnectionConfiguration()
    configuration.tls.serverTrustCheck = { trust, _ in checks.withLock { $0.append(trust) } }

    let error = try await failure(SocketTransport(configuration), HTTPRequest(.get, server.url))

    #expect(error.kind == .untrustedCertificate)
    #expect(checks.withLock { $0.map(\.isTrusted) } == [false])
    #expect(checks.withLock { $0.first?.certificates.isEmpty } == false)
  }

  @Test func metricsHaveTheirOrder() async throws {
    let server = try LoopbackServer { _ in .text("hello") }
    let metrics = Mutex<[TransferMetrics]>([])
    let call = Call(
      listeners: [
        EventHandler { event, _ in if case .metrics(let one) = event { metrics.withLock { $0.append(one) } } }
      ])
    let transport = SocketTransport()
    for _ in 0..<2 {
      let response = try await transport.send(HTTPRequest(.post, server.url, body: .data(Data("abc".utf8))), in: call)
      _ = try await response.body.collect(upTo: 100)
    }
    let (first, second) = try metrics.withLock { try (#require($0.first), #require($0.last)) }
    #expect(first.nameLookup <= first.connect && first.connect <= first.requestStart)
    #expect(first.requestStart <= first.firstByte && first.firstByte <= first.total && first.total > .zero)
    #expect(!first.reusedConnection && second.reusedConnection && second.connect == .zero)
    #expect([first, second].allSatisfy { $0.bytesSent == 3 && $0.bytesReceived == 5 && $0.version == .http1_1 })
    #expect(first.remoteAddress == "127.0.0.1" && first.remotePort == server.port)
    #expect(first.localPort == second.localPort && first.localPort ?? 0 > 0)
  }
}

extension AsyncStream<Data> {
  fileprivate static func one(_ text: String) -> AsyncStream<Data> {
    AsyncStream { continuation in
      continuation.yield(Data(text.utf8))
      continuation.finish()
    }
  }
}

/// The name of the calling thread.
private func threadName() -> String? {
  let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
  return name?.trimmingCharacters(in: .newlines)
}
#endif
