#if os(Linux)
import MartletEngine
import MartletSemantics
import Testing
@testable import MartletSockets

/// The end of connections with one stream or several.
@Suite(.timeLimit(.minutes(5)))
struct HTTP2ConnectionEndTests {
  /// Submits requests and sends them, after the server's settings.
  private func requests(_ count: Int, _ client: HTTP2Client) throws -> [HTTP2Recorder] {
    client.receive(Frames.settings())
    let recorders = try (0..<count).map { _ in try client.submit().recorder }
    client.pull()
    return recorders
  }

  /// The events before the request that encounters the end of its connection.
  enum Past: CaseIterable {
    /// Nothing: the connection was opened for it.
    case none
    /// It was opened ahead of requests: the server's settings have arrived.
    case openedAhead
    case anotherRequest
    /// The connection was not idle: another request, sent before anything arrived, has no response yet.
    case requestWithoutAnswer
    /// The same, but the server's settings have arrived in between.
    case requestWithoutAnswerBeforeSettings
  }

  /// The connection ends before anything has arrived since the request was submitted. It is also stale if it ends
  /// before the server's settings.
  @Test(arguments: Past.allCases)
  func aConnectionThatEndsWasStaleIfNothingWasAwaitedOrAnswered(past: Past) throws {
    let client = try HTTP2Client()
    switch past {
    case .none: break
    case .openedAhead: client.receive(Frames.settings())
    case .anotherRequest:
      _ = try requests(1, client)
      client.receive(Frames.headers(ends: true))
    case .requestWithoutAnswer: try client.submit()
    case .requestWithoutAnswerBeforeSettings:
      try client.submit()
      client.pull()
      client.receive(Frames.settings())
    }
    let (_, recorder) = try client.submit()
    client.pull()

    client.session.connectionEnded()

    let isAwaited = past == .requestWithoutAnswerBeforeSettings
    #expect(recorder.failure?.error.delivery == (isAwaited ? .unknown : .staleConnection))
  }

  /// An answer that is no HTTP/2 would be the same on another connection.
  @Test func aServerThatDoesNotSpeakHTTP2IsNotStale() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()
    client.pull()
    client.receive(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8))
    client.session.connectionEnded()
    #expect(recorder.failure?.error.delivery == .unknown)
    #expect(recorder.failure?.error.kind == .protocolViolation)
  }

  /// Both requests were sent after the connection was idle, and nothing has arrived since.
  @Test func allRequestsOfAStaleConnectionSaySo() throws {
    let client = try HTTP2Client()
    _ = try requests(1, client)
    client.receive(Frames.headers(ends: true))
    let recorders = try (0..<2).map { _ in try client.submit().recorder }
    client.pull()

    client.session.connectionEnded()

    #expect(recorders.map(\.failure?.error.delivery) == [.staleConnection, .staleConnection])
  }

  @Test func aConnectionThatSentSomethingWasNotStale() throws {
    let client = try HTTP2Client()
    _ = try requests(1, client)
    client.receive(Frames.headers(ends: true))
    let (_, recorder) = try client.submit()
    client.pull()
    client.receive(Frames.ping())

    client.session.connectionEnded()

    #expect(recorder.failure?.error.delivery == .unknown)
  }

  @Test func aRequestThatWasNotSentIsRefusedByTheEndOfTheConnection() throws {
    let client = try HTTP2Client()
    let (_, recorder) = try client.submit()

    client.session.connectionEnded(HTTPError(.connectionLost, "host:443: reset by peer", phase: .sending))

    #expect(recorder.failure?.cause == .refused)
    #expect(recorder.failure?.error.delivery == .refused)
  }

  @Test func theOwnersErrorReachesEveryStream() throws {
    let client = try HTTP2Client()
    let recorders = try requests(2, client)

    client.session.connectionEnded(HTTPError(.connectionLost, "host:443: reset by peer", phase: .sending))

    for recorder in recorders {
      #expect(recorder.failure?.error.message == "host:443: reset by peer")
      #expect(recorder.failure?.error.phase == .waiting)
    }
    #expect(client.session.isOver)
    #expect(client.capacity == 0)
  }
}
#endif
