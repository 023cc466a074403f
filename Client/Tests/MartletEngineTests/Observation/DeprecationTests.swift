import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// What the log says about deprecated resources.
@Suite(.timeLimit(.minutes(5)))
struct DeprecationTests {
  private final class Notices: LogSink {
    private let lines = Mutex<[String]>([])

    var texts: [String] { lines.withLock { $0 } }
    func isEnabled(_ level: LogLevel) -> Bool { level == .notice }
    func write(_ line: String, at level: LogLevel) {
      lines.withLock { $0.append(String(line.drop { $0 != " " }.dropFirst())) }
    }
  }

  private func session(_ notices: Notices, _ respond: @escaping @Sendable () -> MockResponse) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.listeners = [LogListener(to: notices)]
    return HTTPSession(transport: MockTransport { _ in respond() }, configuration: configuration)
  }

  @Test func aResourceIsNotedOnceForItsOriginAndPath() async throws {
    let notices = Notices()
    let session = session(notices) {
      .text("ok").with("Deprecation", "@1688169599").with("Sunset", "Sun, 30 Jun 2024 23:59:59 GMT")
        .with("Link", "</docs?token=secret>; rel=deprecation")
    }
    for text in ["/v1/orders", "/v1/orders?page=2", "/v1/customers", "/v1/orders"] {
      _ = try await session.data(for: HTTPRequest(.get, url("http://a.example" + text)))
    }
    _ = try await session.data(for: HTTPRequest(.get, url("http://b.example/v1/orders")))
    let words = "deprecated as of 2023-06-30T23:59:59Z, may stop responding after 2024-06-30T23:59:59Z"
    #expect(
      notices.texts == [
        "http://a.example/v1/orders, says its server: \(words); see http://a.example/docs?token=***",
        "http://a.example/v1/customers, says its server: \(words); see http://a.example/docs?token=***",
        "http://b.example/v1/orders, says its server: \(words); see http://b.example/docs?token=***",
      ])
  }

  @Test func aChangeIsNotedAgainAndAnInvalidFieldNever() async throws {
    let notices = Notices()
    let values = Mutex(["@1", "@1", "@2", "soon", "@2"])
    let session = session(notices) {
      .text("ok").with("Deprecation", values.withLock { $0.removeFirst() })
    }
    for _ in 1...5 { _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/"))) }
    #expect(
      notices.texts == [
        "http://a.example/, says its server: deprecated as of 1970-01-01T00:00:01Z",
        "http://a.example/, says its server: deprecated as of 1970-01-01T00:00:02Z",
      ])
  }

  @Test func theMemoryIsBounded() async throws {
    let notices = Notices()
    let session = session(notices) { .text("ok").with("Deprecation", "@1") }
    for number in 0...1000 { _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/\(number)"))) }
    _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/1000")))  // still known
    #expect(notices.texts.count == 1001)
    _ = try await session.data(for: HTTPRequest(.get, url("http://a.example/0")))  // forgotten
    #expect(notices.texts.count == 1002)
  }
}
