#if os(Linux)
@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// Requests that their callers' threads send, and for which they wait.
@Suite(.timeLimit(.minutes(5)))
struct BlockingWaitTests {
  private static func session(waiting time: Duration = .milliseconds(10)) -> HTTPSession {
    var options = SocketTransport.Options()
    options.blockingWait = time
    return HTTPSession(transport: SocketTransport(options: options))
  }

  @Test(arguments: [Duration.nanoseconds(-1), .milliseconds(11)])
  func aTimeOutsideOfItsLimitsIsAnError(_ time: Duration) async throws {
    let error = await #expect(throws: HTTPError.self) {
      _ = try await Self.session(waiting: time).data(for: HTTPRequest(.get, "http://127.0.0.1:9/"))
    }
    #expect(error?.kind == .invalidRequest && error?.message.contains("blockingWait") == true)
  }

  @Test(arguments: [Duration.zero, .microseconds(200), .milliseconds(10)])
  func requestsOneAfterAnotherGetTheirResponses(_ time: Duration) async throws {
    let server = try LoopbackServer { request in .text(request.path) }
    let session = Self.session(waiting: time)
    for number in 0..<1000 {
      let (data, _) = try await session.data(for: HTTPRequest(.get, server.url.appending(path: "\(number)")))
      #expect(String(decoding: data, as: UTF8.self) == "/\(number)")
    }
    #expect(server.requests.last?.connection == 1)
  }

  @Test(arguments: 2...6) func requestsOfFewCallersGetTheirResponses(_ callers: Int) async throws {
    let server = try LoopbackServer { request in .text(request.path) }
    let session = Self.session()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for caller in 0..<callers {
        group.addTask {
          for number in 0..<200 {
            let (data, _) = try await session.data(for: HTTPRequest(.get, server.url("/\(caller)/\(number)")))
            #expect(String(decoding: data, as: UTF8.self) == "/\(caller)/\(number)")
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(server.requests.count == callers * 200)
  }

  /// A request on its caller's thread must not overtake work that was submitted before it.
  @Test func aQueueIsIdleWhileItsLoopSleepsAndNothingIsSubmitted() {
    let queue = JobQueue<Int>(wakeUp: EventLoop.makeWakeUp())
    #expect(!queue.isIdle)
    #expect(queue.mayFallAsleep())
    #expect(queue.isIdle)
    queue.submit { _ in }
    #expect(!queue.isIdle)
    #expect(!queue.mayFallAsleep())
    #expect(!queue.isIdle)

    var jobs: [JobQueue<Int>.Job] = []
    queue.drain(into: &jobs)
    #expect(jobs.count == 1 && queue.mayFallAsleep() && queue.isIdle)
    queue.awake()
    #expect(!queue.isIdle)
  }

  /// The response's body is larger than the bytes that are received at once.
  @Test func aLargeResponseArrivesWhole() async throws {
    let (small, large) = (Data("small".utf8), Data.counting(3_000_000))
    let server = try LoopbackServer { request in .data(request.path == "/large" ? large : small) }
    let session = Self.session()
    for path in Array(repeating: ["small", "large", "small"], count: 20).joined() {
      let (data, _) = try await session.data(for: HTTPRequest(.get, server.url.appending(path: path)))
      #expect(data == (path == "large" ? large : small))
    }
  }

  @Test func anotherRequestIsSentWhileOneIsWaitedFor() async throws {
    let gate = Gate()
    let server = try LoopbackServer { request in request.path == "/held" ? .text("held").held(by: gate) : .text("ok") }
    let session = Self.session()
    for _ in 0..<50 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
    let held = Task { try await session.data(for: HTTPRequest(.get, server.url.appending(path: "held"))).0 }
    _ = try await server.request(51)
    #expect(try await session.data(for: HTTPRequest(.get, server.url)).0 == Data("ok".utf8))
    gate.open()
    #expect(try await held.value == Data("held".utf8))
  }

  /// The loop's thread sleeps when the caller's thread begins the time limit.
  @Test func aTimeoutEndsTheRequest() async throws {
    let server = try LoopbackServer { request in request.path == "/never" ? .never : .text("ok") }
    let session = Self.session()
    for limit in [Duration.milliseconds(50), .milliseconds(20)] {
      for _ in 0..<5 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
      var request = HTTPRequest(.get, server.url.appending(path: "never"))
      request.options.responseTimeout = limit
      let never = request
      let error = await #expect(throws: HTTPError.self) { _ = try await session.data(for: never) }
      #expect(error?.kind == .responseTimeout)
    }
  }

  @Test func cancellingEndsTheRequest() async throws {
    let server = try LoopbackServer { request in request.path == "/never" ? .never : .text("ok") }
    let session = Self.session()
    for _ in 0..<5 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
    let task = Task { try await session.data(for: HTTPRequest(.get, server.url.appending(path: "never"))) }
    _ = try await server.request(6)
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { _ = try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(try await server.end(ofConnection: 1) == .client)
  }

  /// The end of a connection is noticed before a request that must not be repeated is sent over it, although the loop
  /// may not have been informed yet.
  @Test func nothingIsSentOverAConnectionThatTheServerHasClosed() async throws {
    for _ in 0..<100 {
      let server = try LoopbackServer { request in request.path == "/last" ? .text("ok").closingSilently() : .text("ok")
      }
      let session = Self.session()
      for path in ["first", "last"] {
        _ = try await session.data(for: HTTPRequest(.get, server.url.appending(path: path)))
      }
      _ = try await server.end(ofConnection: 1)
      // The server has closed it, and the system's notification may still be in transit. A table that changes while it
      // is read may lack a row, but not three times.
      try await until { try !(0..<3).contains { _ in try Self.hasEstablishedConnection(to: server.port) } }
      let (data, _) = try await session.data(for: HTTPRequest(.post, server.url))
      #expect(data == Data("ok".utf8))
    }
  }

  /// Whether this machine has a connection to a port that neither end has closed, according to the system.
  private static func hasEstablishedConnection(to port: Int) throws -> Bool {
    let table = String(decoding: try Data(contentsOf: URL(filePath: "/proc/net/tcp")), as: UTF8.self)
    let hexadecimal = String(port, radix: 16, uppercase: true)
    let end = ":" + String(repeating: "0", count: 4 - hexadecimal.count) + hexadecimal
    return table.split(separator: "\n").contains { line in
      let columns = line.split(separator: " ")
      return columns.count > 3 && columns[2].hasSuffix(end) && columns[3] == "01"
    }
  }

  /// The transport ends when the task whose thread has sent a request releases the last reference.
  @Test func theTransportEndsWithItsLastReference() async throws {
    let server = try LoopbackServer { _ in .text("ok") }
    for _ in 1...20 {
      let session = Self.session()
      for _ in 0..<5 { _ = try await session.data(for: HTTPRequest(.get, server.url)) }
    }
    for number in 1...20 { #expect(try await server.end(ofConnection: number) == .client) }
  }
}
#endif
