import CallDoubles
@_spi(Toolkit) import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletTesting
import TestSupport
import Testing

/// Fetches of CSRF tokens during which the token is needed.
@Suite("No call waits for itself: CSRF tokens", .timeLimit(.minutes(5)))
struct CircularCSRFTests {
  private let clock = ManualClock()
  private static let root = url("http://a.example/service/")

  /// A request of an interceptor, during the fetch, that needs the token.
  private func session(_ write: @escaping @Sendable (HTTPSession) async throws -> Void) -> HTTPSession {
    let hasAsked = Once()
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.interceptors = [
      CSRFInterceptor(root: Self.root),
      ReviewInterceptor { call in
        guard call.askedURL == Self.root, hasAsked.first(), let session = call.session else { return }
        try await write(session)
      },
    ]
    return HTTPSession(
      transport: MockTransport(clock: ManualClock()) { request in
        if request.fields["X-CSRF-Token"] == "Fetch" { return .text("").with("X-CSRF-Token", "t") }
        return request.fields["X-CSRF-Token"] == "t" || request.url.path == "/service/log"
          ? .text("done") : .status(.forbidden).with("X-CSRF-Token", "Required")
      }, configuration: configuration)
  }

  private static let log = HTTPRequest(.post, url("http://a.example/service/log"))

  @Test func aFetchIsReviewedWithAWriteOfTheSameSession() async throws {
    let session = session { _ = try await $0.data(for: Self.log) }
    #expect(try await session.data(for: HTTPRequest(.post, Self.root)).1.status == .ok)
  }

  @Test func aFetchIsReviewedWithAWriteThatPassesTheContextOn() async throws {
    let session = session { session in
      let context = CallContext.current
      _ = try await Task.detached { try await context.perform { try await session.data(for: Self.log) } }.value
    }
    #expect(try await session.data(for: HTTPRequest(.post, Self.root)).1.status == .ok)
  }

  @Test func aWriteWithoutContextWaitsAsLongAsTheResponseTimeout() async throws {
    let session = session { session in _ = try await Task.detached { try await session.data(for: Self.log) }.value }
    async let answer = session.data(for: HTTPRequest(.post, Self.root))
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    #expect(try await answer.1.status == .ok)
  }
}
