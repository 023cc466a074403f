#if os(Linux)
import Foundation
@_spi(Toolkit) @_spi(Transports) import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@testable import MartletSockets

/// The reader of a response, and the concurrent task that reads the request's body.
@Suite(.timeLimit(.minutes(5)))
struct ResponseReaderTests {
  /// An exchange with a loop that only records what it is asked for.
  private struct Loop {
    let exchange: Exchange
    private let asked: Recorded

    private final class Recorded: Sendable {
      let commands = Mutex<[String]>([])
      let hasFailed = Gate()
    }

    init(_ request: HTTPRequest? = nil, body: OpenBody? = nil, isSending: Bool = true) throws {
      let asked = Recorded()
      self.asked = asked
      let request = request ?? HTTPRequest(.get, url("http://a.example/"))
      let origin = try #require(request.origin)
      let key = ConnectionKey(to: origin, by: .direct, .http1, identity: 0)
      let destination = Exchange.Destination(to: origin, key: key, identity: TLSIdentity(TLSSettings(), within: nil))
      let head = try HTTP1RequestHead(request, to: origin, body: body)
      let settings = Exchange.Settings(
        headerBytes: 1000, readAhead: 1000, wholeBody: 0, isFirstAttempt: true, events: [])
      exchange = Exchange(
        .init(request: request, head: head, mayUseHTTP2: false, http2Head: nil), body: body, to: destination,
        settings: settings
      ) { command, _ in
        asked.commands.withLock { $0.append("\(command)") }
        if case .fail = command { asked.hasFailed.open() }
      }
      if isSending { #expect(exchange.beginSending()) }
    }

    var commands: [String] { asked.commands.withLock { $0 } }
    var signals: SignalQueue<ResponseSignal> { exchange.signals }

    func hasFailed() async throws { try await asked.hasFailed.wait() }

    func reader(sending body: OpenBody? = nil, in call: Call = Call()) -> ResponseReader {
      ResponseReader(of: exchange, on: asked, sending: body, in: call)
    }
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

  private func lines(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func headAndBodyThatCameAtOnceAreReadOneAfterTheOther() async throws {
    let loop = try Loop()
    let body = loop.reader()
    loop.signals.push(.whole(lines("HTTP/1.1 200 OK\r\n"), Data("hello".utf8), trailers: lines("a: 1\r\n")))
    #expect(try await body.head().status == .ok)
    #expect(body.trailers.isEmpty)
    #expect(try await body.next() == Data("hello".utf8))
    #expect(try await body.next() == nil)
    #expect(body.trailers["a"] == "1")
    body.cancel()
    #expect(loop.commands.isEmpty)
  }

  @Test(arguments: [false, true])
  func aCancelledRequestKnowsWhetherItWasSent(isSent: Bool) async throws {
    let loop = try Loop(isSending: isSent)
    let body = loop.reader()
    let reading = Task { try await body.head() }
    reading.cancel()

    let error = await #expect(throws: (any Error).self) { try await reading.value }.map { HTTPError(wrapping: $0) }

    #expect(error?.isCancelled == true)
    #expect(error?.phase == (isSent ? nil : .queued))
    #expect(error?.isUnsent == !isSent)
    #expect(loop.commands == ["cancel"])
  }

  @Test(arguments: [false, true])
  func aRequestThatItsDeadlineEndsKnowsWhetherItWasSent(isSent: Bool) async throws {
    let loop = try Loop(isSending: isSent)
    let body = loop.reader()
    body.fail(HTTPError(.deadlineExceeded, "too late"))

    let error = await #expect(throws: HTTPError.self) { try await body.head() }

    #expect(error?.kind == .deadlineExceeded)
    #expect(error?.phase == (isSent ? nil : .queued))
    #expect(loop.commands == ["cancel"])
  }

  @Test(arguments: [false, true])
  func metricsOfAResponseThatCameAtOnceAreReportedAfterItsBytes(isTaken: Bool) async throws {
    let reported = Mutex<[TransferMetrics]>([])
    let listener = EventHandler(.metrics) { event, _ in
      if case .metrics(let metrics) = event { reported.withLock { $0.append(metrics) } }
    }
    let loop = try Loop()
    let call = Call(listeners: [listener])
    let body = loop.reader(in: call)
    let whole = ResponseSignal.whole(lines("HTTP/1.1 200 OK\r\n"), Data("hello".utf8), trailers: [])
    var metrics = TransferMetrics()
    metrics.total = .milliseconds(3)
    loop.signals.push(whole.measured(metrics))
    #expect(try await body.head().status == .ok)
    #expect(try await (isTaken ? body.takeReceived() : body.next()) == Data("hello".utf8))
    #expect(reported.withLock(\.count) == 0)
    if !isTaken { #expect(try await body.next() == nil) }
    body.cancel()
    body.cancel()
    #expect(reported.withLock { $0.map(\.total) } == [.milliseconds(3)])
    #expect(loop.commands.isEmpty)
  }

  @Test func responseThatCameAtOnceIsNotReadAfterACancellation() async throws {
    let loop = try Loop()
    let body = loop.reader()
    loop.signals.push(.whole(lines("HTTP/1.1 200 OK\r\n"), Data("hello".utf8), trailers: []))
    _ = try await body.head()
    body.cancel()
    await #expect(throws: CancellationError.self) { try await body.next() }
  }

  @Test func releasedReaderCancelsItsTransferOnce() async throws {
    let loop = try Loop()
    do {
      let body = loop.reader()
      loop.signals.push(.head(lines("HTTP/1.1 200 OK\r\n")))
      _ = try await body.head()
      body.cancel()
    }
    #expect(loop.commands == ["cancel"])
  }

  @Test func questionIsAskedBeforeTheHeadAndItsErrorEndsTheRequest() async throws {
    struct Refused: Error {}
    let loop = try Loop()
    let body = loop.reader()
    let asked = Counter()
    loop.signals.push(.ask { _ in asked.next() })
    loop.signals.push(.ask { _ in throw Refused() })
    await #expect(throws: Refused.self) { try await body.head() }
    #expect(asked.value == 1)
    #expect(loop.commands == ["cancel"])
  }

  /// Otherwise a part of a body would be sent as the whole, if the loop checks the queue at that moment.
  @Test func sequenceThatEndsBecauseItWasCancelledIsNoWholeBody() async throws {
    let hasBegun = Gate()
    let request = HTTPRequest(
      .put, url("http://a.example/"),
      body: .stream { EndingWhenCancelled(hasBegun: hasBegun) })
    let open = try await request.body.open()
    let loop = try Loop(request, body: open)
    let body = loop.reader(sending: open)
    try await hasBegun.wait()

    body.cancel()
    try await loop.hasFailed()

    guard case .nothingYet = loop.exchange.nextPart(after: 0) else {
      Issue.record("the body has ended")
      return
    }
    #expect(loop.commands.first == "cancel" && loop.commands.count == 2)
  }
}
#endif
