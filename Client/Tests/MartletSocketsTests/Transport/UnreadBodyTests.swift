#if os(Linux)
import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import TestServers
import TestSupport
import Testing

/// How a call ends whose caller does not ask for the end of the body.
@Suite(.timeLimit(.minutes(5)))
struct UnreadBodyTests {
  struct Row: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let reply: Reply
    var isComplete = true

    init(_ name: String, _ reply: Reply, isComplete: Bool = true) {
      (testDescription, self.reply, self.isComplete) = (name, reply, isComplete)
    }
  }

  static let rows = [
    Row("no content", Reply(status: .noContent)),
    Row("a length of 0", .data(Data())),
    Row("empty chunks", .data(Data()).chunked(size: 1)),
    Row("empty until the close", .data(Data()).untilClose()),
    Row("coded, with a length of 0", .data(Data()).with(.contentEncoding, "gzip")),
    Row("coded, in empty chunks", .data(Data()).with(.contentEncoding, "gzip").chunked(size: 1)),
    Row("coded twice, in empty chunks", .data(Data()).with(.contentEncoding, "gzip, br").chunked(size: 1)),
    Row("cacheable, in empty chunks", .data(Data()).with(.cacheControl, "max-age=60").chunked(size: 1)),
    Row("a byte", .data(Data("a".utf8)), isComplete: false),
    Row("a byte in a chunk", .data(Data("a".utf8)).chunked(size: 1), isComplete: false),
    Row("cut off coded data", .data(Data()).with(.contentEncoding, "gzip").untilClose(), isComplete: false),
  ]

  /// The kinds of the errors with which calls have ended, and `none`.
  private final class Ends: EventListener {
    let kinds = Awaitable<[String]>([])
    let events = Event.Kinds.finished

    func receive(_ event: Event, in call: Call) {
      guard case .finished(let error) = event else { return }
      kinds.update { $0.append(error.map { "\($0.kind)" } ?? "none") }
    }
  }

  private func end(
    of request: HTTPRequest, over transport: SocketTransport, afterReading count: Int = 0
  ) async throws -> String {
    let ends = Ends()
    var configuration = SessionConfiguration()
    configuration.listeners = [ends]
    let session = HTTPSession(transport: transport, configuration: configuration)
    var body: ResponseBody? = try await session.bytes(for: request).0
    // The response has arrived.
    if count == 0 { try await until { await transport.statistics().values.allSatisfy { $0.active == 0 } } }
    if count > 0, let iterator = body?.makeAsyncIterator() {
      var (pieces, read) = (iterator, 0)
      while read < count { read += try await pieces.next()?.count ?? count }
    }
    body = nil
    return try await ends.kinds.wait { $0.first }
  }

  @Test(arguments: rows)
  func aCallWithoutContentEndsWithoutAnError(_ row: Row) async throws {
    let server = try LoopbackServer { _ in row.reply }
    #expect(
      try await end(of: HTTPRequest(.get, server.url), over: SocketTransport())
        == (row.isComplete ? "none" : "cancelled"))
  }

  /// A head without a length, and the end of the stream in it, or in an empty DATA.
  @Test(arguments: [
    [HTTP2Frame(1, flags: 5, stream: nil, payload: Data([0x88]))],
    [HTTP2Frame(1, flags: 4, stream: nil, payload: Data([0x88])), HTTP2Frame(0, flags: 1, stream: nil)],
  ])
  func aCallWithoutContentEndsWithoutAnErrorOverHTTP2(_ frames: [HTTP2Frame]) async throws {
    let server = try LoopbackServer(tls: .selfSigned) { _ in .hangUp.sendingFrames(frames).stalled(after: 0) }
    let transport = SocketTransport(.trusting(server))
    #expect(try await end(of: HTTPRequest(.get, server.url), over: transport) == "none")
  }

  @Test(arguments: [(5, "none"), (4, "cancelled")])
  func aCallIsCompleteAfterItsLastByte(count: Int, expected: String) async throws {
    let held = Gate()
    let server = try LoopbackServer { _ in .data(Data("hello".utf8)).stalled(after: 4, until: held) }
    if count == 5 { held.open() }
    #expect(
      try await end(of: HTTPRequest(.get, server.url), over: SocketTransport(), afterReading: count) == expected)
    held.open()
  }
}
#endif
