import CallDoubles
import Foundation
import MartletEngine
import MartletSemantics
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StatusExpectationTests {
  private let folder: TemporaryFolder
  private let session = HTTPSession(transport: SocketTransport())

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: [
    (StatusExpectation.any, [100, 200, 404, 600], []),
    (.successful, [200, 204, 299], [199, 300, 304, 404, 500]),
    (.only([.ok, .notFound]), [200, 404], [201, 410]),
    (.only([]), [], [200]),
  ])
  func expectationIsARuleAboutTheStatus(_ expectation: StatusExpectation, _ accepted: [Int], _ refused: [Int]) {
    for status in accepted { #expect(expectation.accepts(HTTPStatus(status))) }
    for status in refused { #expect(!expectation.accepts(HTTPStatus(status))) }
  }

  private enum Verb: CaseIterable {
    case data, bytes, upload, download, resumableDownload, value

    func send(_ request: HTTPRequest, in session: HTTPSession, to file: URL) async throws {
      switch self {
      case .data: _ = try await session.data(for: request, expecting: .successful)
      case .bytes: _ = try await session.bytes(for: request, expecting: .only([.ok]))
      case .upload: _ = try await session.upload(for: request, from: .empty, expecting: .successful)
      case .download: _ = try await session.download(for: request, to: file)
      case .resumableDownload: _ = try await session.resumableDownload(for: request, to: file)
      case .value: _ = try await session.value(of: Int.self, for: request)
      }
    }
  }

  @Test func everyVerbFailsWithTheHeadAndTheBeginningOfTheBody() async throws {
    let server = try LoopbackServer { _ in .json(#"{"title": "gone"}"#, status: .gone).with("X-Trace", "7") }
    let request = HTTPRequest(.get, server.url("/a?key=secret"))
    for verb in Verb.allCases {
      let error = await #expect(throws: HTTPError.self) {
        try await verb.send(request, in: session, to: folder.file("file"))
      }
      #expect(error?.kind == .unexpectedResponse)
      #expect(error?.message == "unexpected status 410 Gone")
      #expect(error?.body == Data(#"{"title": "gone"}"#.utf8))
      #expect(error?.response?.fields["X-Trace"] == "7")
      #expect(error?.request?.method == .get)
      #expect(error.map { "\($0)".contains("secret") } == false)
    }
    #expect(try folder.names() == [])
    #expect(server.connectionCount == 1, "a small body leaves the connection usable")
  }

  @Test func whatIsExpectedIsAResponse() async throws {
    let server = try LoopbackServer { _ in .text("not here", status: .notFound) }
    let request = HTTPRequest(.get, server.url)
    let expected = StatusExpectation.only([.notFound])

    let (data, _) = try await session.data(for: request, expecting: expected)
    let (body, _) = try await session.bytes(for: request, expecting: expected)
    let response = try await session.download(for: request, to: folder.file("file"), expecting: .any)

    #expect(data == Data("not here".utf8))
    #expect(try await body.collect(upTo: 100) == data)
    #expect(try await response.body.collect(upTo: 100) == data)
    #expect(try folder.names() == [])
  }

  @Test func expectationOfTheSessionHoldsUnlessTheRequestHasItsOwn() async throws {
    let server = try LoopbackServer { _ in .status(.notFound) }
    var configuration = SessionConfiguration()
    configuration.options.expecting = .successful
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)

    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, server.url)) }
    let (_, response) = try await session.data(for: HTTPRequest(.get, server.url), expecting: .any)

    #expect(error?.kind == .unexpectedResponse)
    #expect(response.status == .notFound)
  }

  @Test func longBodyIsReadToALimit() async throws {
    let server = try LoopbackServer { _ in .repeating(Data("a".utf8), length: 1 << 30).changed(to: .internalServerError)
    }
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, server.url), expecting: .successful)
    }
    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.body == Data(repeating: UInt8(ascii: "a"), count: 64 << 10))
  }

  @Test func bodyThatDoesNotArriveIsNotAwaitedForLong() async throws {
    let server = try LoopbackServer { _ in .data(Data(count: 10), status: .badGateway).stalled(after: 0) }
    var configuration = SessionConfiguration()
    let clock = ManualClock()
    configuration.clock = clock
    let session = HTTPSession(transport: SocketTransport(), configuration: configuration)
    let request = HTTPRequest(.get, server.url)

    let task = Task { try await session.bytes(for: request, expecting: .successful) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))
    let error = await #expect(throws: HTTPError.self) { try await task.value }

    #expect(error?.kind == .unexpectedResponse)
    #expect(error?.body == nil)
  }

  @Test func listenersGetTheBodyAndTheError() async throws {
    let server = try LoopbackServer { _ in .text("no", status: .forbidden) }
    let log = EventLog()
    let lines = LogLines()
    var request = HTTPRequest(.get, server.url)
    request.options.listeners = [log, LogListener(to: lines)]

    _ = try? await session.download(for: request, to: folder.file("file"))

    #expect(log.lines.contains("received 2"))
    #expect(log.lines.last == "finished unexpectedResponse")
    #expect(log.lines.filter { $0.hasPrefix("finished") }.count == 1)
    #expect(lines.all.last?.contains("403 Forbidden, failed with unexpectedResponse: unexpected status 403") == true)
  }

  @Test func statusOfADownloadLeavesTheDestinationAsItIs() async throws {
    let server = try LoopbackServer { _ in .status(.serviceUnavailable) }
    let file = folder.file("file")
    try Data("old".utf8).write(to: file)

    await #expect(throws: HTTPError.self) { try await session.download(for: HTTPRequest(.get, server.url), to: file) }

    #expect(try Data(contentsOf: file) == Data("old".utf8))
  }

  @Test func keptBytesStayKeptAfterAStatus() async throws {
    let server = try LoopbackServer { request in
      request.fields[.range] == nil
        ? .data(Data(count: 9000)).with(.eTag, "\"1\"").truncated(after: 5000) : .status(.serviceUnavailable)
    }
    let request = HTTPRequest(.get, server.url)
    let file = folder.file("file")

    let first = await #expect(throws: HTTPError.self) {
      try await session.resumableDownload(for: request, to: file)
    }
    let second = await #expect(throws: HTTPError.self) {
      try await session.resumableDownload(for: request, to: file, resuming: first?.resumption)
    }

    #expect(second?.kind == .unexpectedResponse)
    #expect(second?.resumption?.byteCount == 5000)
  }

  @Test(arguments: [false, true])
  func downloadsAreStoredOnlyIfTheOptionIsSet(_ stores: Bool) async throws {
    let server = try LoopbackServer { _ in .text("film").with(.cacheControl, "max-age=600") }
    var request = HTTPRequest(.get, server.url)
    request.options.storesDownloads = stores

    _ = try await session.download(for: request, to: folder.file("1"))
    let second = try await session.download(for: request, to: folder.file("2"))
    #expect(second.source == (stores ? .cache : .network))

    _ = try await session.data(for: request)
    let stored = try await session.download(for: request, to: folder.file("3"))
    #expect(stored.source == .cache, "what is stored is used in any case")
    #expect(server.requests.count == (stores ? 1 : 3))
  }

  @Test func storedResponseThatADownloadReplacesIsRemoved() async throws {
    let server = try LoopbackServer { request in
      request.fields[.ifNoneMatch] == nil
        ? .text("old").with(.eTag, "\"1\"").with(.cacheControl, "max-age=0")
        : .text("new").with(.eTag, "\"2\"").with(.cacheControl, "max-age=0")
    }
    let request = HTTPRequest(.get, server.url)

    _ = try await session.data(for: request)
    _ = try await session.download(for: request, to: folder.file("file"))
    _ = try await session.data(for: request)

    #expect(server.requests.map { $0.fields[.ifNoneMatch] } == [nil, "\"1\"", nil])
  }
}

/// Keeps the lines of a log.
private final class LogLines: LogSink {
  private let lines = Awaitable<[String]>([])
  var all: [String] { lines.value }

  func isEnabled(_ level: LogLevel) -> Bool { true }

  func write(_ line: String, at level: LogLevel) { lines.update { $0.append(line) } }
}

extension Reply {
  fileprivate func changed(to status: HTTPStatus) -> Reply {
    var reply = self
    reply.status = status
    return reply
  }
}
