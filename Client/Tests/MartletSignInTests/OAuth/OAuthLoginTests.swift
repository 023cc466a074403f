import Foundation
@_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import MartletSignIn
import MartletSockets
@_spi(Toolkit) import MartletTesting
import Synchronization
import Testing

@testable import MartletSignIn

@Suite(.timeLimit(.minutes(5)))
struct OAuthLoginTests {
  // MARK: - Device (RFC 8628)

  private static let codes = Reply.json(
    #"{"device_code": "d", "user_code": "WDJB", "verification_uri": "https://a.example/device", "expires_in": 60}"#)

  /// Logs in with these answers to the token requests; the last one repeats. Returns the token and the seconds between
  /// the requests.
  private func logIn(_ answers: [Reply]) async throws -> (token: Result<AccessToken, any Error>, waits: [Duration]) {
    let clock = JumpingClock()
    let server = try TokenServer { form, count in
      form["path"] == "/device" ? Self.codes : answers[min(count - 1, answers.count - 1)]
    }
    let client = server.client(.basic(secret: "s"), clock: clock)
    let shown = Awaitable<[DeviceCode]>([])
    let login = OAuthLogin.device(server.server.url("/device"), scopes: ["a"]) { code in
      shown.update { $0.append(code) }
    }

    let result = await Task { try await client.token(by: login) }.result

    #expect(shown.value.map(\.userCode) == ["WDJB"])
    #expect(shown.value.first?.lifetime == .seconds(60))
    #expect(server.received.first.map { [$0["client_id"], $0["scope"]] } == ["app", "a"])
    #expect(server.received.dropFirst().allSatisfy { $0["device_code"] == "d" })
    return (result, clock.waits)
  }

  @Test func tokenIsAskedForUntilTheUserHasLoggedIn() async throws {
    let pending = TokenServer.refusal("authorization_pending")
    let (token, waits) = try await logIn([
      pending, TokenServer.refusal("slow_down"), pending, TokenServer.token("a", refresh: "r"),
    ])
    #expect(try token.get().value == "a")
    #expect(try token.get().refreshToken == "r")
    #expect(waits == [.seconds(5), .seconds(5), .seconds(10), .seconds(10)])
  }

  @Test func lostConnectionDoublesTheInterval() async throws {
    let (token, waits) = try await logIn([.hangUp, TokenServer.token("a")])
    #expect(try token.get().value == "a")
    #expect(waits == [.seconds(5), .seconds(10)])
  }

  @Test(arguments: [429, 500, 502, 503, 504]) func busyServerDoublesTheInterval(_ status: Int) async throws {
    let (token, waits) = try await logIn([.text("busy", status: HTTPStatus(status)), TokenServer.token("a")])
    #expect(try token.get().value == "a")
    #expect(waits == [.seconds(5), .seconds(10)])
  }

  @Test func busyServerMayAskForALongerPause() async throws {
    let busy = Reply.status(.tooManyRequests, fields: [.retryAfter: "30"])
    let (token, waits) = try await logIn([busy, TokenServer.token("a")])
    #expect(try token.get().value == "a")
    #expect(waits == [.seconds(5), .seconds(30)])
  }

  /// GitHub answers with 200, Google with 428, Auth0 with 403 and 429, and Twitch without `error`.
  @Test(arguments: [
    (200, #"{"error":"authorization_pending"}"#), (428, #"{"error":"authorization_pending"}"#),
    (403, #"{"error":"authorization_pending"}"#), (429, #"{"error":"authorization_pending"}"#),
    (400, #"{"status":400,"message":"authorization_pending"}"#),
  ])
  func errorIsReadBeforeTheStatusDecides(_ status: Int, _ body: String) async throws {
    let (token, waits) = try await logIn([.json(body, status: HTTPStatus(status)), TokenServer.token("a")])
    #expect(try token.get().value == "a")
    #expect(waits == [.seconds(5), .seconds(5)])
  }

  /// As GitHub answers, with 200.
  @Test func refusalInASuccessfulResponseEndsTheLogin() async throws {
    let (token, waits) = try await logIn([.json(#"{"error":"access_denied","error_description":"no"}"#)])
    let error = #expect(throws: HTTPError.self) { try token.get() }
    #expect(error?.underlying as? OAuthError != nil)
    #expect(error?.message.contains("access_denied (no)") == true)
    #expect(waits.count == 1)
  }

  @Test(arguments: ["access_denied", "expired_token"])
  func refusalEndsTheLogin(_ code: String) async throws {
    let (token, waits) = try await logIn([TokenServer.refusal("authorization_pending"), TokenServer.refusal(code)])
    let error = #expect(throws: HTTPError.self) { try token.get() }
    #expect((error?.underlying as? OAuthError)?.code == code)
    #expect(waits.count == 2)
  }

  @Test func codeThatNobodyEntersExpires() async throws {
    let (token, waits) = try await logIn([TokenServer.refusal("authorization_pending")])
    let error = #expect(throws: HTTPError.self) { try token.get() }
    #expect((error?.underlying as? OAuthError)?.code == "expired_token")
    #expect(waits.count == 12, "60 seconds in intervals of 5")
  }

  // MARK: - Browser (RFC 6749 §4.1, RFC 7636, RFC 8252)

  /// Logs in, with a closure for the browser that receives the query of the page and a session.
  private func logIn(
    answer: @escaping @Sendable (TokenServer.Form) -> Reply = { _ in TokenServer.token("a", refresh: "r") },
    browser: @escaping @Sendable ([String: String]) async throws -> Void
  ) async throws -> (Result<AccessToken, any Error>, [TokenServer.Form]) {
    let server = try TokenServer { form, _ in answer(form) }
    let login = OAuthLogin.browser(server.server.url("/authorize?tenant=1"), scopes: ["read"]) { page in
      let pairs = PercentEncoding.form.pairs(in: page.query(percentEncoded: true) ?? "")
      try await browser(Dictionary(pairs.map { ($0.name, $0.value) }) { first, _ in first })
    }
    let client = server.client()
    let result = await Task { try await client.token(by: login) }.result
    return (result, server.received)
  }

  private static func get(_ redirect: String?, _ query: String) async throws -> (String, HTTPResponse) {
    try await HTTPSession(transport: SocketTransport()).text(for: HTTPRequest(.get, (redirect ?? "") + query))
  }

  @Test func codeOfTheBrowserBecomesAToken() async throws {
    let asked = Awaitable<[String: String]>([:])
    let (result, forms) = try await logIn { query in
      asked.update { $0 = query }
      let (text, response) = try await Self.get(query["redirect_uri"], "?code=c%2B1&state=\(query["state"] ?? "")")
      #expect(response.status == .ok && text.contains("You are logged in"))
      #expect(response.fields[.cacheControl] == "no-store")
    }
    let query = asked.value
    let form = try #require(forms.first)
    #expect(try result.get().value == "a")
    #expect(query["response_type"] == "code" && query["client_id"] == "app" && query["scope"] == "read")
    #expect(query["tenant"] == "1", "the query of the endpoint is kept")
    #expect(query["redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
    #expect(form["grant_type"] == "authorization_code" && form["code"] == "c+1")
    #expect(form["redirect_uri"] == query["redirect_uri"])
    let verifier = try #require(form["code_verifier"])
    #expect(query["code_challenge_method"] == "S256")
    #expect(MessageDigest.hash(.sha256, Data(verifier.utf8))?.base64URL == query["code_challenge"])
    #expect(verifier.count == 43 && query["state"]?.count == 43)
  }

  @Test func otherRequestsDoNotCount() async throws {
    let (result, _) = try await logIn { query in
      let redirect = query["redirect_uri"]
      let state = query["state"] ?? ""
      for foreign in ["?code=evil", "?code=evil&state=wrong", "/other?code=evil&state=\(state)", "?state=\(state)"] {
        #expect(try await Self.get(redirect, foreign).1.status == .notFound)
      }
      _ = try await Self.get(redirect, "?code=c&state=\(state)")
    }
    #expect(try result.get().value == "a")
  }

  @Test func loginOverPlainHTTPIsRefused() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let endpoint = try #require(URL(string: "http://login.example/authorize"))
    let error = await #expect(throws: HTTPError.self) {
      try await server.client().token(by: .browser(endpoint) { _ in Issue.record("the page was shown") })
    }
    #expect(error?.kind == .invalidRequest)
  }

  /// RFC 9207 §2.4: an `iss` that is sent is that of the server.
  @Test(arguments: ["https://evil.example", "https://127.0.0.1", "", "no%20URL"])
  func answerOfAnotherServerEndsTheLogin(_ issuer: String) async throws {
    for part in ["code=c", "error=access_denied"] {
      let (result, forms) = try await logIn { query in
        let (text, _) = try await Self.get(
          query["redirect_uri"], "?\(part)&iss=\(issuer)&state=\(query["state"] ?? "")")
        #expect(text.contains("The login failed"))
      }
      let error = #expect(throws: HTTPError.self) { try result.get() }
      #expect(error?.kind == .authenticationFailed)
      #expect(error?.message.contains("iss") == true)
      #expect(error?.underlying == nil, "a refusal of another server says nothing")
      #expect(forms.isEmpty, "the code is not sent to the token endpoint")
    }
  }

  @Test func refusalOfTheUserIsAnError() async throws {
    let (result, forms) = try await logIn { query in
      let (text, _) = try await Self.get(
        query["redirect_uri"], "?error=access_denied&error_description=%3Cb%3Eno&state=\(query["state"] ?? "")")
      #expect(text.contains("The login failed") && !text.contains("<b>no"))
    }
    let error = #expect(throws: HTTPError.self) { try result.get() }
    #expect((error?.underlying as? OAuthError)?.code == "access_denied")
    #expect(forms.isEmpty)
  }

  @Test func browserThatCannotBeOpenedIsAnErrorAndThePortIsClosed() async throws {
    struct NoBrowser: Error {}
    let redirect = Awaitable<String?>(nil)
    let (result, _) = try await logIn { query in
      redirect.update { $0 = query["redirect_uri"] }
      throw NoBrowser()
    }
    let error = #expect(throws: HTTPError.self) { try result.get() }
    #expect(error?.underlying is NoBrowser)
    try await expectClosed(redirect.value)
  }

  @Test func cancelledLoginClosesThePort() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let page = Awaitable<URL?>(nil)
    let login = OAuthLogin.browser(server.server.url("/authorize")) { url in page.update { $0 = url } }
    let client = server.client()
    let task = Task { try await client.token(by: login) }
    let url = try await page.wait { $0 }

    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }

    #expect(error?.kind == .cancelled)
    try await expectClosed(
      URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems?
        .first { $0.name == "redirect_uri" }?.value)
  }

  @Test func loginThatTakesTooLongIsAnError() async throws {
    let server = try TokenServer { _, _ in TokenServer.token("a") }
    let clock = ManualClock()
    let login = OAuthLogin.browser(server.server.url("/authorize"), within: .seconds(60)) { _ in }
    let client = server.client(clock: clock)
    let task = Task { try await client.token(by: login) }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(60))
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .deadlineExceeded)
    #expect(server.received.isEmpty)
  }

  /// The port is closed soon after the login has ended, on a separate queue.
  private func expectClosed(_ redirect: String?) async throws {
    while (try? await Self.get(redirect, "?code=c&state=s")) != nil { await Task.yield() }
  }
}

/// A clock on which every sleep ends at once, at its deadline.
private final class JumpingClock: Clock {
  struct Instant: InstantProtocol {
    var elapsed: Duration

    func advanced(by duration: Duration) -> Instant { Instant(elapsed: elapsed + duration) }
    func duration(to other: Instant) -> Duration { other.elapsed - elapsed }
    static func < (left: Instant, right: Instant) -> Bool { left.elapsed < right.elapsed }
  }

  private let state = Mutex((now: Instant(elapsed: .zero), waits: [Duration]()))

  /// The durations of the sleeps.
  var waits: [Duration] { state.withLock { $0.waits } }
  var now: Instant { state.withLock { $0.now } }
  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    state.withLock { state in
      state.waits.append(state.now.duration(to: deadline))
      state.now = max(state.now, deadline)
    }
  }
}
