import CallDoubles
@_spi(Stores) @_spi(Toolkit) import MartletEngine
import MartletSemantics
import Synchronization
import TestSupport
import Testing

/// Bodies whose bytes arrive with their head. They are collected without a read.
@Suite(.timeLimit(.minutes(5)))
struct ReceivedBodyTests {
  /// A source that already has all its bytes, or its error, and counts how often it is read.
  private final class ReceivedSource: BodySource {
    private let received: Result<Data, HTTPError>
    private let readCount = Mutex(0)

    init(_ received: Result<Data, HTTPError>) { self.received = received }

    var reads: Int { readCount.withLock { $0 } }

    func next() async throws -> Data? {
      readCount.withLock { $0 += 1 }
      return nil
    }

    func takeReceived() throws(HTTPError) -> Data? { try received.get() }
  }

  private let url = TestSupport.url("https://host.example/")

  /// A session whose transport answers with the source.
  private func session(_ source: ReceivedSource, _ listeners: [any EventListener]) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.listeners = listeners
    let transport = TestTransport { [url] _ in
      HTTPResponse(url: url, networkHead: ResponseHead(status: .ok), body: ResponseBody(from: source))
    }
    return HTTPSession(transport: transport, configuration: configuration)
  }

  @Test(arguments: [false, true]) func areCollectedWithoutARead(isObserved: Bool) async throws {
    let (source, log) = (ReceivedSource(.success(Data([1, 2, 3]))), EventLog())

    let (data, _) = try await session(source, isObserved ? [log] : []).data(for: HTTPRequest(.get, url))

    #expect(data == Data([1, 2, 3]))
    #expect(source.reads == 0)
    #expect(log.lines.last == (isObserved ? "finished" : nil))
  }

  @Test(arguments: [false, true]) func endWithTheErrorOfTheirSource(isObserved: Bool) async throws {
    let (source, log) = (ReceivedSource(.failure(HTTPError(.connectionLost, "lost"))), EventLog())

    let (session, request) = (session(source, isObserved ? [log] : []), HTTPRequest(.get, url))
    let error = await #expect(throws: HTTPError.self) { _ = try await session.data(for: request) }

    #expect(error?.kind == .connectionLost)
    #expect(error?.request?.url == url)
    #expect(log.lines.filter { $0.hasPrefix("finished") } == (isObserved ? ["finished connectionLost"] : []))
  }

  @Test(arguments: [false, true]) func areLimitedLikeOthers(isObserved: Bool) async throws {
    let session = session(ReceivedSource(.success(Data(count: 11))), isObserved ? [EventLog()] : [])
    var options = RequestOptions()
    options.collectLimit = 10
    let request = HTTPRequest(.get, url, options: options)

    let error = await #expect(throws: HTTPError.self) { _ = try await session.data(for: request) }

    #expect(error?.kind == .bodyTooLarge)
  }

  /// A source that is at its end, but has to be asked for it.
  private struct EmptySource: BodySource {
    func next() async throws -> Data? { nil }
  }

  @Test(arguments: [DataSource(Data()), EmptySource()] as [any BodySource])
  func anEmptyBodyEndsItsCallWithoutAnErrorAlthoughItIsNotRead(source: any BodySource) async throws {
    let log = EventLog()
    var configuration = SessionConfiguration()
    configuration.listeners = [log]
    let transport = TestTransport { [url] _ in
      HTTPResponse(
        url: url, networkHead: ResponseHead(status: .noContent), body: ResponseBody(length: 0, from: source))
    }
    let session = HTTPSession(transport: transport, configuration: configuration)

    let (body, _) = try await session.bytes(for: HTTPRequest(.get, url))
    body.cancel()

    #expect(log.lines.filter { $0.hasPrefix("finished") } == ["finished"])
  }

  @Test func areNotCollectedTwice() async throws {
    let body = ResponseBody(from: ReceivedSource(.success(Data([1]))))
    #expect(try await body.collect(upTo: 10) == Data([1]))

    let error = await #expect(throws: HTTPError.self) { _ = try await body.collect(upTo: 10) }

    #expect(error?.kind == .bodyAlreadyRead)
  }
}
