import Foundation
@_spi(Transports) @testable import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// The reader of a response, and the concurrent task that reads the request's body.
@Suite(.timeLimit(.minutes(5)))
struct TransferBodyTests {
  private let signals = SignalQueue<TransferSignal>(highWater: 1000)

  /// Records the requests to a loop thread.
  private final class Loop: TransferControl {
    let signals: SignalQueue<TransferSignal>
    private let asked = Mutex<[String]>([])
    let hasFailed = Gate()

    init(_ signals: SignalQueue<TransferSignal>) { self.signals = signals }

    var requests: [String] { asked.withLock { $0 } }

    /// Whether a connection has begun to send the request.
    let isSending = Atomic(true)

    func preventSending() -> Bool { !isSending.load(ordering: .relaxed) }
    func resumeReading() { note("resume reading") }
    func continueUpload() { note("continue upload") }
    func cancel() { note("cancel") }
    func fail(_ error: HTTPError) {
      note("fail: \(error.kind)")
      hasFailed.open()
    }

    private func note(_ text: String) { asked.withLock { $0.append(text) } }
  }

  /// A sequence that has no bytes, and ends when its task is cancelled.
  private struct EndingWhenCancelled: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let hasBegun: Gate

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> Data? {
      hasBegun.open()
      let (silence, _) = AsyncStream.makeStream(of: Data.self)
      for await chunk in silence { return chunk }
      return nil
    }
  }

  private func body(_ loop: Loop, sending upload: Upload = .none, from body: OpenBody? = nil) -> TransferBody {
    TransferBody(of: loop, on: loop, sending: upload, from: body, in: Call())
  }

  private func lines(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func headAndBodyThatCameAtOnceAreReadOneAfterTheOther() async throws {
    let loop = Loop(signals)
    let body = body(loop)
    signals.push(.whole(lines("HTTP/1.1 200 OK\r\n"), Data("hello".utf8), trailers: lines("a: 1\r\n")))
    #expect(try await body.head().status == .ok)
    #expect(body.trailers.isEmpty)
    #expect(try await body.next() == Data("hello".utf8))
    #expect(try await body.next() == nil)
    #expect(body.trailers["a"] == "1")
    body.cancel()
    #expect(loop.requests.isEmpty)
  }

  @Test(arguments: [false, true])
  func aCancelledRequestKnowsWhetherItWasSent(isSent: Bool) async throws {
    let loop = Loop(signals)
    loop.isSending.store(isSent, ordering: .relaxed)
    let body = body(loop)
    let reading = Task { try await body.head() }
    reading.cancel()

    let error = await #expect(throws: (any Error).self) { try await reading.value }.map { HTTPError(wrapping: $0) }

    #expect(error?.isCancelled == true)
    #expect(error?.phase == (isSent ? nil : .queued))
    #expect(error?.isUnsent == !isSent)
    #expect(loop.requests == ["cancel"])
  }

  @Test(arguments: [false, true])
  func aRequestThatItsDeadlineEndsKnowsWhetherItWasSent(isSent: Bool) async throws {
    let loop = Loop(signals)
    loop.isSending.store(isSent, ordering: .relaxed)
    let body = body(loop)
    body.fail(HTTPError(.deadlineExceeded, "too late"))

    let error = await #expect(throws: HTTPError.self) { try await body.head() }

    #expect(error?.kind == .deadlineExceeded)
    #expect(error?.phase == (isSent ? nil : .queued))
  }

  @Test(arguments: [false, true])
  func metricsOfAResponseThatCameAtOnceAreReportedAfterItsBytes(isTaken: Bool) async throws {
    let reported = Mutex<[TransferMetrics]>([])
    let listener = EventHandler(.metrics) { event, _ in
      if case .metrics(let metrics) = event { reported.withLock { $0.append(metrics) } }
    }
    let loop = Loop(signals)
    let call = Call(listeners: [listener])
    let body = TransferBody(of: loop, on: loop, sending: .none, from: nil, in: call)
    let whole = TransferSignal.whole(lines("HTTP/1.1 200 OK\r\n"), Data("hello".utf8), trailers: [])
    var metrics = TransferMetrics()
    metrics.total = .milliseconds(3)
    signals.push(whole.measured(metrics))
    #expect(try await body.head().status == .ok)
    #expect(try await (isTaken ? body.takeReceived() : body.next()) == Data("hello".utf8))
    #expect(reported.withLock(\.count) == 0)
    if !isTaken { #expect(try await body.next() == nil) }
    body.cancel()
    body.cancel()
    #expect(reported.withLock { $0.map(\.total) } == [.milliseconds(3)])
    #expect(loop.requests.isEmpty)
  }

  @Test func responseThatCameAtOnceIsNotReadAfterACancellation() async throws {
    let body = body(Loop(signals))
    signals.push(.whole(lines("HTTP/1.1 200 OK\r\n"), Data("hello".utf8), trailers: []))
    _ = try await body.head()
    body.cancel()
    await #expect(throws: CancellationError.self) { try await body.next() }
  }

  @Test func releasedReaderCancelsItsTransferOnce() async throws {
    let loop = Loop(signals)
    do {
      let body = body(loop)
      signals.push(.head(lines("HTTP/1.1 200 OK\r\n")))
      _ = try await body.head()
      body.cancel()
    }
    #expect(loop.requests == ["cancel"])
  }

  @Test func questionIsAskedBeforeTheHeadAndItsErrorEndsTheRequest() async {
    struct Refused: Error {}
    let loop = Loop(signals)
    let body = body(loop)
    let asked = Counter()
    signals.push(.ask { _ in asked.next() })
    signals.push(.ask { _ in throw Refused() })
    await #expect(throws: Refused.self) { try await body.head() }
    #expect(asked.value == 1)
    #expect(loop.requests == ["cancel"])
  }

  /// Otherwise a part of a body would be sent as the whole, if the loop checks the queue at that moment.
  @Test func sequenceThatEndsBecauseItWasCancelledIsNoWholeBody() async throws {
    let hasBegun = Gate()
    let loop = Loop(signals)
    let request = HTTPRequest(
      .put, try #require(URL(string: "http://a.example/")),
      body: .stream { EndingWhenCancelled(hasBegun: hasBegun) })
    let open = try await request.body.open()
    let upload = Upload(open, of: request, waitsFor100: false)
    let body = body(loop, sending: upload, from: open)
    try await hasBegun.wait()

    body.cancel()
    try await loop.hasFailed.wait()

    guard case .queue(let queue) = upload, case .nothingYet = queue.next() else {
      Issue.record("the queue has ended")
      return
    }
    #expect(loop.requests == ["cancel", "fail: cancelled"])
  }
}
