import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import Synchronization
import TestServers
import TestSupport
import Testing

/// What listeners get to know of attempts that fail, or whose response is not the last.
@Suite(.timeLimit(.minutes(5)))
struct FailedAttemptTests {
  /// Sends a request that fails. Returns the measurements.
  private func metrics(of url: URL, expecting kind: HTTPError.Kind) async throws -> TransferMetrics {
    let recorder = Recorder()
    var request = HTTPRequest(.get, url)
    request.options.listeners = [recorder]
    let error = await #expect(throws: HTTPError.self) { _ = try await HTTPSession.uncached().data(for: request) }
    #expect(error?.kind == kind)
    #expect(recorder.metrics.count == 1)
    return try #require(recorder.metrics.first)
  }

  @Test func aConnectionThatIsRefusedIsMeasured() async throws {
    let metrics = try await metrics(of: url("http://127.0.0.1:\(try LocalPort.free())/"), expecting: .cannotConnect)
    #expect(metrics.total > .zero)
    #expect(metrics.connect == .zero && metrics.requestStart == .zero && metrics.firstByte == .zero)
    #expect(metrics.version == nil)
  }

  @Test func aFailedHandshakeIsMeasured() async throws {
    let nginx = try Nginx.shared.get()
    let metrics = try await metrics(of: nginx.tls("/hello.txt"), expecting: .untrustedCertificate)
    #expect(metrics.connect > .zero)
    #expect(metrics.total >= metrics.connect)
    #expect(metrics.secureConnect == .zero && metrics.requestStart == .zero)
    #expect(metrics.remoteAddress == "127.0.0.1")
  }

  @Test func aResponseThatIsCutOffIsMeasured() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 1000)).truncated(after: 500) }
    let metrics = try await metrics(of: server.url, expecting: .connectionLost)
    #expect(metrics.requestStart > .zero && metrics.firstByte >= metrics.requestStart)
    #expect(metrics.total >= metrics.firstByte)
    #expect(metrics.bytesReceived == 500)
    #expect(metrics.headerBytesReceived > 0)
  }

  @Test func aCallWithoutContentIsMeasuredAndEndsWithoutAnErrorAlthoughItsBodyIsNotRead() async throws {
    let server = try LoopbackServer { _ in .status(.noContent) }
    let events = Mutex<[String]>([])
    var request = HTTPRequest(.get, server.url)
    request.options.listeners = [
      EventHandler { event, _ in
        switch event {
        case .metrics: events.withLock { $0.append("metrics") }
        case .finished(let error): events.withLock { $0.append("end \(error?.kind.name ?? "")") }
        default: break
        }
      }
    ]

    _ = try await HTTPSession.uncached().bytes(for: request)

    #expect(events.withLock { $0 } == ["metrics", "end "])
  }

  /// The body of its response is dropped, whether it has arrived or is still arriving.
  @Test(arguments: [nil, 5] as [Int64?]) func anAttemptThatIsSentAgainIsMeasuredBeforeTheNext(stall: Int64?)
    async throws
  {
    let server = try LoopbackServer { request in
      guard request.path == "/old" else { return .text("here") }
      let moved = Reply.text("it has moved", status: .found).with(.location, "/new")
      return stall.map { moved.stalled(after: $0) } ?? moved
    }
    let recorder = Recorder()
    let order = Mutex<[String]>([])
    var request = HTTPRequest(.get, server.url("/old"))
    request.options.listeners = [
      recorder,
      EventHandler { event, _ in
        switch event {
        case .attempt(let number, _): order.withLock { $0.append("attempt \(number)") }
        case .metrics: order.withLock { $0.append("metrics") }
        default: break
        }
      },
    ]
    let (data, _) = try await HTTPSession.uncached().data(for: request)

    #expect(data == Data("here".utf8))
    #expect(order.withLock { $0 } == ["attempt 1", "metrics", "attempt 2", "metrics"])
    let first = try #require(recorder.metrics.first)
    #expect(first.version == .http1_1 && first.headerBytesReceived > 0)
    #expect(first.requestStart > .zero && first.total >= first.firstByte)
  }

  @Test func aBodyThatIsCancelledIsMeasuredOnceWithWhatWasRead() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 1000)).stalled(after: 500) }
    let recorder = Recorder()
    var request = HTTPRequest(.get, server.url)
    request.options.listeners = [recorder]
    let (body, _) = try await HTTPSession.uncached().bytes(for: request)
    var chunks = body.makeAsyncIterator()
    var count = 0
    while count < 500, let chunk = try await chunks.next() { count += chunk.count }
    body.cancel()
    body.cancel()

    #expect(recorder.metrics.map(\.bytesReceived) == [500])
  }

  /// Its parts are those of the attempt until it failed.
  @Test func anArchiveHasTheTimesOfAFailedAttempt() async throws {
    let recorder = HARRecorder()
    let server = try LoopbackServer { _ in .hangUp }
    var request = HTTPRequest(.get, server.url)
    request.options.listeners = [recorder]
    request.options.retryPolicy.replacesStaleConnections = false
    await #expect(throws: HTTPError.self) { _ = try await HTTPSession.uncached().data(for: request) }

    let timings = try #require(recorder.har.log.entries.first?.timings)
    #expect(timings.wait > 0)
    #expect(timings.receive == 0)
  }
}
