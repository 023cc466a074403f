import CallDoubles
import MartletEngine
import MartletSemantics
import MartletSignIn
import MartletTesting
import Synchronization
import TestSupport

/// A server that issues each token together with a session cookie, and refuses a token without its cookie.
final class CSRFServer: Sendable {
  struct State {
    var sessions: [String: String] = [:]
    var lastSession = 0
    var fetches: [String] = []
    var refusals = 0
    var accepted: [String] = []
  }

  let state = Mutex(State())
  let log = EventLog()
  /// Opens with the first fetch.
  let isFetching = Gate()
  /// Returns a custom response; nil for that of the server.
  let answers: @Sendable (MockRequest) async throws -> MockResponse?

  init(_ answers: @escaping @Sendable (MockRequest) async throws -> MockResponse? = { _ in nil }) {
    self.answers = answers
  }

  /// The requests for a token so far: method and path.
  var fetches: [String] { state.withLock { $0.fetches } }
  /// The bodies that were accepted.
  var accepted: [String] { state.withLock { $0.accepted } }
  var refusals: Int { state.withLock { $0.refusals } }

  static let root = url("http://a.example/service/")

  /// Returns a request that needs a token.
  static func post(_ body: String = "a", _ path: String = "orders") -> HTTPRequest {
    HTTPRequest(.post, root.appending(path: path), body: .data(Data(body.utf8)))
  }

  /// Returns a response with the token of the request as its body.
  static func echo(_ request: MockRequest) -> MockResponse { .text(request.fields["X-CSRF-Token"] ?? "none") }

  /// Returns a session whose requests go to this server.
  ///
  /// - Parameter first: an interceptor before that of CSRF.
  func session(
    _ interceptor: CSRFInterceptor = CSRFInterceptor(root: root), after first: any Interceptor = TestInterceptor(),
    clock: any Clock<Duration> = ContinuousClock()
  ) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.clock = clock
    configuration.interceptors = [first, interceptor, SessionCookie()]
    configuration.listeners = [log]
    return HTTPSession(transport: MockTransport { [self] in try await respond(to: $0) }, configuration: configuration)
  }

  /// Ends all sessions: earlier cookies and tokens become invalid.
  func forgetSessions() { state.withLock { $0.sessions = [:] } }

  func respond(to request: MockRequest) async throws -> MockResponse {
    let asked = request.fields["X-CSRF-Token"]
    if asked == "Fetch" {
      state.withLock { $0.fetches.append("\(request.method) \(request.url.path(percentEncoded: true))") }
      isFetching.open()
    }
    if let answer = try await answers(request) { return answer }
    let session = request.fields[.cookie].map { String($0.dropFirst("session=".count)) }
    if asked == "Fetch" { return issueToken(for: session) }
    if request.method == .get { return .text("read") }
    let body = String(decoding: try await request.readBody(), as: UTF8.self)
    return state.withLock { state in
      guard let asked, let session, state.sessions[session] == asked else {
        state.refusals += 1
        return .text("CSRF token validation failed", status: .forbidden).with("X-CSRF-Token", "Required")
      }
      state.accepted.append(body)
      return .text("written", status: .created)
    }
  }

  private func issueToken(for session: String?) -> MockResponse {
    state.withLock { state in
      if let session, let token = state.sessions[session] { return .text("").with("X-CSRF-Token", token) }
      state.lastSession += 1
      let token = "token-\(state.lastSession)=="
      state.sessions["\(state.lastSession)"] = token
      return .text("").with("X-CSRF-Token", token).with(.setCookie, "session=\(state.lastSession); path=/")
    }
  }
}

/// Stores one cookie and sends it, like a browser.
struct SessionCookie: Interceptor {
  private final class Jar: Sendable { let cookie = Mutex<String?>(nil) }
  private let jar = Jar()

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    var request = request
    request.fields[.cookie] = jar.cookie.withLock { $0 }
    return .send(request)
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    if let cookie = (try? outcome.get())?.networkHead?.fields[values: .setCookie].first {
      jar.cookie.withLock { $0 = String(cookie.prefix { $0 != ";" }) }
    }
    return .accept
  }
}

/// A token store that throws.
struct FailingStore: CSRFTokenStore {
  struct Failure: Error {}
  func token(for url: URL) async throws -> String? { throw Failure() }
  func setToken(_ token: String?, for url: URL) async throws { throw Failure() }
}
