import MartletEngine
import MartletObservation
import MartletSemantics
import MartletTesting
import TestServers
import TestSupport
import Testing

/// What listeners get to know of attempts that fail.
@Suite(.timeLimit(.minutes(5)), .overCurlAndSockets)
struct FailedAttemptTests {
  /// Sends a request that fails. Returns what was measured.
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
    // libcurl does not say when a connection was open on which the handshake failed
    #expect(metrics.connect > .zero || TestedTransport.current == .curl)
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
    // libcurl counts the end of the connection as a first byte
    #expect(timings.receive == 0 || TestedTransport.current == .curl)
  }
}
