import Foundation
import Martlet
import MartletSemantics
import MartletTesting
import Testing

@testable import SAPFoundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Follows the login page like a browser, up to the redirect.
private final class Browser: LoginPagePresenting {
  let pages = Shared<[URL]>([])
  let dismissals = Shared(0)
  /// Changes the URL at the end; with nil the user never reaches it.
  private let end: (@Sendable (URL) -> (URL?, (any Error)?))?

  init(end: (@Sendable (URL) -> (URL?, (any Error)?))? = { ($0, nil) }) { self.end = end }

  func present(_ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void) {
    pages.change { $0.append(page) }
    guard let end else { return }
    Task.detached {  // on a thread without the context of the call, as a browser's
      var configuration = SessionConfiguration()
      configuration.options.redirectPolicy = .manual
      let response = try? await HTTPSession(configuration: configuration).data(for: HTTPRequest(.get, page)).1
      guard let location = response?.head.fields[.location].flatMap({ URL(string: $0) }) else {
        return completionHandler(nil, TestFailure(name: "the page leads nowhere"))
      }
      let (url, error) = end(location)
      completionHandler(url, error)
    }
  }

  func dismiss() { dismissals.change { $0 += 1 } }
}

@Suite("OAuth 2.0 against a Python server", .timeLimit(.minutes(5)))
struct OAuth2Tests {
  private let server: PythonLogins
  private let redirect = URL(string: "com.example.app://callback?of=app") ?? URL(filePath: "/")

  init() throws { server = try PythonLogins() }

  private func parameters(
    scopes: Set<String> = [], _ method: OAuth2AuthenticationParameters.CodeChallengeMethod? = .s256
  ) -> OAuth2AuthenticationParameters {
    OAuth2AuthenticationParameters(
      authorizationEndpointURL: server.url("/authorize?tenant=1"), clientID: "app",
      redirectURL: URL(string: "com.example.app://callback") ?? redirect, tokenEndpointURL: server.url("/token"),
      requestingScopes: scopes, codeChallengeMethod: method)
  }

  private func client(
    secret: String = "p w+%&ü", _ authentication: OAuth2ClientCredentialsAuthenticationParameters.ClientAuthentication
  ) throws -> OAuth2ClientCredentialsAuthenticationParameters {
    try OAuth2ClientCredentialsAuthenticationParameters(
      tokenEndpointURL: server.url("/token"), clientID: "sü:b", clientSecret: secret,
      requestingScopes: ["write", "read"],
      clientAuthentication: authentication)
  }

  @Test(arguments: [OAuth2ClientCredentialsAuthenticationParameters.ClientAuthentication.basic, .post])
  func aClientGetsATokenForItself(
    _ authentication: OAuth2ClientCredentialsAuthenticationParameters.ClientAuthentication
  ) async throws {
    let store = OAuth2TokenStorage()
    let observer = OAuth2Observer(
      authenticationParameters: try client(authentication), tokenStore: store, backend: server.url("/"))
    let session = SAPURLSession.uncached(observer)

    await withTaskGroup(of: String?.self) { group in
      for number in 0..<8 { group.addTask { await session.get(server.url("/api/\(number)")).text } }
      for await text in group { #expect(text == "for you") }
    }
    #expect(try await server.count(of: "/token") == 1)
    let sent = try await server.lastTokenRequest()
    #expect(sent["grant_type"] == "client_credentials" && sent["scope"] == "read write")
    #expect((sent["authorization"]?.hasPrefix("Basic ") == true) == (authentication == .basic))
    #expect((sent["client_secret"] != nil) == (authentication == .post))
    let token = try #require(try store.token(for: server.url("/")))
    #expect(
      token.scopes == ["read", "write"] && token.expiryDate.map { $0 > Date(timeIntervalSinceNow: 3000) } == true)

    try await server.expireSessions()
    #expect(await session.get(server.url("/api/again")).text == "for you")
    #expect(try await server.count(of: "/token") == 2)
  }

  @Test func theErrorOfARefusedClientHasTheServersDescription() async throws {
    let observer = OAuth2Observer(
      authenticationParameters: try client(secret: "wrong", .basic), backend: server.url("/"))
    let outcome = await SAPURLSession.uncached(observer).get(server.url("/api"))

    let cause = (outcome.error as? URLError)?.underlyingHTTPError?.underlying as? OAuth2Error
    #expect(cause?.description == "The authorization server refused the request: invalid_client.")
    #expect(outcome.code == .userAuthenticationRequired)
  }

  /// Returns the error of a client that gets a token for itself.
  private func error(
    at endpoint: URL, secret: String = "hunter2",
    _ authentication: OAuth2ClientCredentialsAuthenticationParameters.ClientAuthentication = .post,
    by session: SAPURLSession = SAPURLSession(configuration: SAPURLSession.plain)
  ) async throws -> (any Error)? {
    let authenticator = OAuth2Authenticator(
      authenticationParameters: try OAuth2ClientCredentialsAuthenticationParameters(
        tokenEndpointURL: endpoint, clientID: "app", clientSecret: secret, clientAuthentication: authentication),
      sapURLSession: session)
    return await withCheckedContinuation { continuation in
      authenticator.authenticate { _, error in continuation.resume(returning: error) }
    }
  }

  @Test func aRedirectOfTheTokenEndpointIsNotFollowed() async throws {
    let elsewhere = try LoopbackServer { _ in .json(#"{"access_token": "a", "token_type": "Bearer"}"#) }
    let tokens = try LoopbackServer { _ in
      .redirect(to: elsewhere.url("/token").absoluteString, status: .temporaryRedirect)
    }

    let error = try await error(at: tokens.url("/token")) as? OAuth2Error

    #expect(error?.description == "The response is not a token (status 307): the endpoint refuses the request")
    #expect(tokens.requests.count == 1)
    #expect(elsewhere.requests.isEmpty)
  }

  @Test func secretsAreSentToNoUnprotectedServer() async throws {
    let requests = Shared(0)
    let transport = MockTransport { _ in
      requests.change { $0 += 1 }
      return .json(#"{"access_token": "a", "token_type": "Bearer"}"#)
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain, in: .init(transport: transport))
    let unprotected = try #require(URL(string: "http://a.example/token"))

    let error = try await error(at: unprotected, by: session) as? OAuth2Error

    guard case .invalidArgument(let detail)? = error else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
    #expect(detail.contains("'http://a.example/token' of the authorization server is not https"))
    #expect(requests.value == 0)
  }

  @Test(arguments: [OAuth2ClientCredentialsAuthenticationParameters.ClientAuthentication.basic, .post])
  func aRefusalDoesNotRepeatTheSecrets(
    _ authentication: OAuth2ClientCredentialsAuthenticationParameters.ClientAuthentication
  ) async throws {
    let tokens = try LoopbackServer { _ in
      .json(#"{"error": "invalid_client", "error_description": "no secret: hun ter\u0007"}"#, status: .badRequest)
    }

    let error = try await error(at: tokens.url("/token"), secret: "hun ter", authentication) as? OAuth2Error

    #expect(error?.description == "The authorization server refused the request: invalid_client (no secret: ***).")
  }

  @Test func tokenRequestsUseNoCookies() async throws {
    let tokens = try LoopbackServer { _ in
      .json(#"{"access_token": "a", "token_type": "Bearer"}"#).with(.setCookie, "id=1; Path=/")
    }
    let session = SAPURLSession(configuration: SAPURLSession.plain)

    for _ in 0..<2 { #expect(try await error(at: tokens.url("/token"), by: session) == nil) }

    #expect(tokens.requests.map { $0.fields[.cookie] } == [nil, nil])
  }

  @Test func aResponseOfMoreThanAMebibyteIsAnError() async throws {
    let tokens = try LoopbackServer { _ in .text(String(repeating: " ", count: (1 << 20) + 1)) }
    let error = try await error(at: tokens.url("/token")) as? URLError
    #expect(error?.code == .dataLengthExceedsMaximum)
  }

  @Test(arguments: [OAuth2AuthenticationParameters.CodeChallengeMethod.s256, .plain, nil])
  func aUserLogsInThroughTheSameSession(_ method: OAuth2AuthenticationParameters.CodeChallengeMethod?) async throws {
    let browser = Browser()
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    session.register(
      OAuth2Observer(
        authenticationParameters: parameters(scopes: ["read"], method), sapURLSession: session,
        webViewPresenter: browser,
        backend: server.url("/")))

    #expect(await session.get(server.url("/api")).text == "for you")

    let page = try #require(browser.pages.value.first?.absoluteString)
    #expect(
      page.contains(
        "/authorize?tenant=1&response_type=code&client_id=app&redirect_uri=com.example.app%3A%2F%2Fcallback"))
    #expect(page.contains("code_challenge_method=S256") == (method == .s256))
    let sent = try await server.lastTokenRequest()
    #expect(sent["client_id"] == "app" && sent["authorization"] == "")
    #expect((sent["code_verifier"]?.count == 43) == (method != nil))

    try await server.expireSessions()
    #expect(await session.get(server.url("/api")).text == "for you")
    #expect(try await server.lastTokenRequest()["grant_type"] == "refresh_token")
    _ = try await server.text("/control/forget")
    #expect(await session.get(server.url("/api")).text == "for you")
    #expect(browser.pages.value.count == 2)
  }

  @Test func theRedirectOfTheLoginPageIsValidated() async throws {
    func error(scopes: Set<String> = [], _ end: @escaping @Sendable (URL) -> (URL?, (any Error)?)) async -> OAuth2Error?
    {
      let authenticator = OAuth2Authenticator(
        authenticationParameters: parameters(scopes: scopes), webViewPresenter: Browser(end: end))
      return await withCheckedContinuation { continuation in
        authenticator.authenticate { _, error in continuation.resume(returning: error as? OAuth2Error) }
      }
    }
    func replacing(_ text: String, _ other: String) -> @Sendable (URL) -> (URL?, (any Error)?) {
      { (URL(string: $0.absoluteString.replacing(text, with: other)), nil) }
    }

    let withoutCode = "The login ended without a code."
    #expect(await error(replacing("state=", "state=x"))?.description == withoutCode)
    #expect(await error(replacing("callback", "other"))?.description == withoutCode)
    // RFC 9207: the code of another server is not sent
    #expect(await error(replacing("state=", "iss=https://evil.example&state="))?.description == withoutCode)
    #expect(await error { _ in (nil, nil) }?.description == "The login was cancelled.")
    #expect(
      await error { _ in (nil, TestFailure(name: "page")) }?.description == "The login page could not be shown.")
    #expect(
      await error(scopes: ["forbidden"]) { ($0, nil) }?.description
        == "The authorization server refused the request: access_denied (not for you).")
    #expect(
      await error(replacing("code=", "code=x"))?.description
        == "The authorization server refused the request: invalid_grant.")
  }

  @Test func signingOutDismissesTheLoginPage() async throws {
    let browser = Browser(end: nil)
    let session = SAPURLSession(configuration: SAPURLSession.plain)
    session.register(
      OAuth2Observer(
        authenticationParameters: parameters(), webViewPresenter: browser, backend: server.url("/")))

    let task = session.dataTask(with: server.url("/api")) { _, _, _ in }
    task.resume()
    await browser.pages.wait { !$0.isEmpty }
    session.clearCredentials()

    #expect(browser.dismissals.value == 1)
    task.cancel()
  }

  @Test func aNetworkThatIsGoneIsNoReasonToLogInAgain() async throws {
    let gone = try LoopbackServer { _ in .text("") }
    gone.stop()
    let (session, browser, _) = try expiredLogin(at: gone.url("/token"))

    #expect(await session.get(server.url("/api")).code == .cannotConnectToHost)
    #expect(browser.pages.value.isEmpty)
  }

  @Test(arguments: [
    (429, "sorry"), (500, "sorry"), (502, ""), (503, #"{"error": "temporarily_unavailable"}"#),
    (401, #"{"error": "invalid_client"}"#), (404, ""),
  ])
  func aRenewalThatIsNotDecidedIsNoReasonToLogInAgain(_ status: Int, _ body: String) async throws {
    let tokens = try LoopbackServer { _ in .json(body, status: HTTPStatus(status)) }
    let (session, browser, store) = try expiredLogin(at: tokens.url("/token"))

    #expect(await session.get(server.url("/api")).code == .userAuthenticationRequired)

    #expect(browser.pages.value.isEmpty)
    #expect(try store.token(for: server.url("/"))?.refreshToken == "r")
  }

  @Test(arguments: [
    (200, #"{"error": "bad_refresh_token"}"#), (400, #"{"error": "invalid_grant"}"#),
    (401, #"{"error": "invalid_token"}"#), (403, ""),
  ])
  func aRefusedRenewalShowsTheLoginPage(_ status: Int, _ body: String) async throws {
    let tokens = try LoopbackServer { _ in .json(body, status: HTTPStatus(status)) }
    let (session, browser, _) = try expiredLogin(at: tokens.url("/token"))
    _ = await session.get(server.url("/api"))
    #expect(browser.pages.value.count == 1)
  }

  /// A session whose user logged in long ago. The token is renewed at this URL.
  private func expiredLogin(at tokenEndpoint: URL) throws -> (SAPURLSession, Browser, OAuth2TokenStorage) {
    let browser = Browser()
    let store = OAuth2TokenStorage()
    try store.store(
      token: OAuth2Token(accessToken: "old", tokenType: "bearer", expiryDate: .distantPast, refreshToken: "r"),
      for: server.url("/"))
    let authenticator = OAuth2Authenticator(
      authenticationParameters: OAuth2AuthenticationParameters(
        authorizationEndpointURL: server.url("/authorize"), clientID: "app", redirectURL: redirect,
        tokenEndpointURL: tokenEndpoint), webViewPresenter: browser)
    let session = SAPURLSession.uncached(
      OAuth2Observer(authenticator: authenticator, tokenStore: store, backend: server.url("/")))
    return (session, browser, store)
  }

  @Test func theObserverCanBeSubclassed() {
    final class Own: OAuth2Observer {}
    let browser = Browser()
    let observer = Own(
      authenticator: OAuth2Authenticator(authenticationParameters: parameters(), webViewPresenter: browser))
    #expect(SAPURLSession.observed(by: observer).isRegistered(observer))
  }

  @Test func parametersShowNoSecret() throws {
    let parameters = OAuth2AuthenticationParameters(
      authorizationEndpointURL: server.url("/authorize"), clientID: "app", redirectURL: redirect,
      tokenEndpointURL: server.url("/token"), clientSecret: "very-secret")
    var text = "\(parameters)"
    dump(parameters, to: &text)
    dump(OAuth2Authenticator(authenticationParameters: parameters, webViewPresenter: Browser()), to: &text)
    #expect(!text.contains("very-secret"))
    #expect(throws: OAuth2Error.self) { try client(secret: "", .basic) }
  }
}
