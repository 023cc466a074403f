import MartletEngine
import MartletSemantics
import MartletTesting
import Synchronization

/// A server that hands out tokens in pairs with session cookies, and refuses what is no pair.
final class TokenServer: Sendable {
  struct State {
    var sessions: [String: String] = [:]
    var lastSession = 0
    var fetches: [String] = []
    var refusals = 0
    var accepted: [String] = []
  }

  let state = Mutex(State())
  /// What a question is answered with, in place of a token.
  let answers: @Sendable (MockRequest) async throws -> MockResponse?

  init(_ answers: @escaping @Sendable (MockRequest) async throws -> MockResponse? = { _ in nil }) {
    self.answers = answers
  }

  /// The questions for a token so far: method and path.
  var fetches: [String] { state.withLock { $0.fetches } }
  /// The bodies that were accepted.
  var accepted: [String] { state.withLock { $0.accepted } }
  var refusals: Int { state.withLock { $0.refusals } }

  /// All sessions end: neither cookies nor tokens are worth anything.
  func forgetSessions() { state.withLock { $0.sessions = [:] } }

  func respond(to request: MockRequest) async throws -> MockResponse {
    let asked = request.fields["X-CSRF-Token"]
    if asked == "Fetch" {
      state.withLock { $0.fetches.append("\(request.method) \(request.url.path(percentEncoded: true))") }
    }
    if let answer = try await answers(request) { return answer }
    let session = request.fields[.cookie].map { String($0.dropFirst("session=".count)) }
    if asked == "Fetch" { return handOut(to: session) }
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

  private func handOut(to session: String?) -> MockResponse {
    state.withLock { state in
      if let session, let token = state.sessions[session] { return .text("").with("X-CSRF-Token", token) }
      state.lastSession += 1
      let token = "token-\(state.lastSession)=="
      state.sessions["\(state.lastSession)"] = token
      return .text("").with("X-CSRF-Token", token).with(.setCookie, "session=\(state.lastSession); path=/")
    }
  }
}

/// One cookie, kept as a browser would keep it.
struct OneCookie: Interceptor {
  private final class Jar: Sendable { let cookie = Mutex<String?>(nil) }
  private let jar = Jar()

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    var request = request
    request.fields[.cookie] = jar.cookie.withLock { $0 }
    return request
  }

  func review(_ outcome: Outcome, of attempt: Attempt, in exchange: Exchange) async throws -> Verdict {
    if let cookie = (try? outcome.get())?.wire?.fields[values: .setCookie].first {
      jar.cookie.withLock { $0 = String(cookie.prefix { $0 != ";" }) }
    }
    return .accept
  }
}

/// A token store that remembers nothing and fails.
struct FailingStore: CSRFTokenStore {
  struct Failure: Error {}
  func token(for url: URL) async throws -> String? { throw Failure() }
  func setToken(_ token: String?, for url: URL) async throws { throw Failure() }
}
