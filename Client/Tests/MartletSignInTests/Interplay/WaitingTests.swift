import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// A call's deadline and its task's cancellation end its own waits, and not those of other calls.
@Suite("Deadlines and cancellation during waits", .timeLimit(.minutes(5)))
struct WaitingTests {
  enum Wait: String, CaseIterable, Sendable {
    case renewal, question, csrfFetch, csrfStore, retry
  }

  /// A store that waits for a gate.
  private struct SlowStore: CSRFTokenStore {
    let reached: Gate
    let go: Gate
    func token(for url: URL) async throws -> String? {
      reached.open()
      try await go.wait()
      return nil
    }
    func setToken(_ token: String?, for url: URL) async throws {}
  }

  private final class Place: Sendable {
    let reached = Gate()
    let go = Gate()

    func session(_ wait: Wait, _ clock: any Clock<Duration> = ContinuousClock()) -> HTTPSession {
      var configuration = SessionConfiguration()
      configuration.clock = clock
      switch wait {
      case .renewal:
        configuration.credentials = [
          TokenSource(for: .any) { [self] _ in
            reached.open()
            try await go.wait()
            return AccessToken("t")
          }
        ]
      case .question:
        configuration.credentials = [
          PasswordSource(for: .any) { [self] _ in
            reached.open()
            try await go.wait()
            return Credential(user: "a", password: "b")
          }
        ]
      case .csrfFetch: configuration.interceptors = [CSRFInterceptor(root: origin)]
      case .csrfStore:
        var options = CSRFOptions()
        options.store = SlowStore(reached: reached, go: go)
        configuration.interceptors = [CSRFInterceptor(root: origin, options: options)]
      case .retry:
        configuration.options.retryPolicy = .standard
        configuration.options.retryPolicy.retryAfterLimit = .seconds(1000)
      }
      return HTTPSession(
        transport: MockTransport { [self] request in
          switch wait {
          case .retry where !go.isOpen:
            reached.open()
            return .status(.serviceUnavailable, fields: [.retryAfter: "900"])
          case .question where !request.fields.contains(.authorization):
            return .status(.unauthorized, fields: [.wwwAuthenticate: "Basic realm=r"])
          case .csrfFetch where request.method != .post:
            reached.open()
            try await go.wait()
            return .text("").with("X-CSRF-Token", "t")
          default: return .text("done")
          }
        }, configuration: configuration)
    }

    func request(_ wait: Wait) -> HTTPRequest {
      HTTPRequest(wait == .csrfFetch || wait == .csrfStore ? .post : .get, origin)
    }
  }

  @Test(arguments: Wait.allCases)
  func cancellationEndsOnlyTheWaitOfItsOwnTask(_ wait: Wait) async throws {
    let place = Place()
    let clock = ManualClock()
    let session = place.session(wait, clock)
    let first = Task { try await session.data(for: place.request(wait)) }
    try await place.reached.wait()
    let second = Task { try await session.data(for: place.request(wait)).1.status }
    // The first call's retry sleeps. Elsewhere only the second call's wait has a limit, as it began after the work.
    try await clock.sleepers(1)

    first.cancel()
    let error = await #expect(throws: HTTPError.self) { try await first.value }
    #expect(error?.kind == .cancelled)
    guard wait != .retry else { return second.cancel() }
    place.go.open()
    #expect(try await second.value == .ok)
  }

  @Test(arguments: Wait.allCases)
  func theDeadlineEndsTheWait(_ wait: Wait) async throws {
    let place = Place()
    let session = place.session(wait)
    var request = place.request(wait)
    request.options.deadline = wait == .retry ? .seconds(600) : .milliseconds(200)
    if wait == .retry {
      // a delay beyond the deadline does not begin
      #expect(try await session.data(for: request).1.status == .serviceUnavailable)
    } else {
      let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
      #expect(error?.kind == .deadlineExceeded)
    }
    place.go.open()
  }
}
