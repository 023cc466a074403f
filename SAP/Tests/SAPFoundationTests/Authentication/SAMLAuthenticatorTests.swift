import Foundation
import MartletTesting
import SAPFoundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A browser without a window: it loads the page with cookies of its own, and follows redirects itself.
private final class Browser: CookiePagePresenting, Sendable {
  enum Way: Sendable { case login, cancel, failure, never }

  let pages = Shared<[(page: URL, finish: URL, cookies: [String])]>([])
  let dismissals = Shared(0)
  private let way: Way
  private let waiting = Shared<(@Sendable ([HTTPCookie]?, (any Error)?) -> Void)?>(nil)

  init(_ way: Way = .login) { self.way = way }

  func present(
    _ page: URL, with cookies: [HTTPCookie], until finish: URL,
    completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void
  ) {
    pages.change { $0.append((page, finish, cookies.map(\.name))) }
    switch way {
    case .login:
      let configuration = SAPURLSession.plain
      configuration.httpCookieStorage = SAPHTTPCookieStorage()
      let session = SAPURLSession(configuration: configuration)
      session.dataTask(with: page) { _, _, error in
        completionHandler(session.configuration.httpCookieStorage?.cookies(for: page), error)
      }.resume()
    case .cancel: completionHandler(nil, nil)
    case .failure: completionHandler(nil, TestFailure(name: "no display"))
    case .never: waiting.change { $0 = completionHandler }
    }
  }

  func dismiss() {
    dismissals.change { $0 += 1 }
    waiting.value?(nil, nil)
  }
}

@Suite("The authenticator for SAML", .timeLimit(.minutes(5)))
struct SAMLAuthenticatorTests {
  private let server: LoopbackLogins

  init() throws { server = try LoopbackLogins() }

  private var parameters: SAMLAuthenticationParameters {
    SAMLAuthenticationParameters(
      authorizationEndpointURL: server.url("/login"), finishEndpointURL: server.url("/finished"))
  }

  private func failure(
    _ authenticator: SAMLAuthenticator, of session: SAPURLSession = SAPURLSession(configuration: .ephemeral)
  ) async
    -> SAMLError?
  {
    await withCheckedContinuation { continuation in
      authenticator.authenticate(session: session) { continuation.resume(returning: $0 as? SAMLError) }
    }
  }

  @Test func theCookiesOfThePageAreThoseOfTheSession() async throws {
    let browser = Browser()
    let session = SAPURLSession.observed(
      by: SAMLObserver(
        authenticator: SAMLAuthenticator(authenticationParameters: parameters, webViewPresenter: browser)))
    let known = HTTPCookie(properties: [.name: "theme", .value: "dark", .domain: "127.0.0.1", .path: "/login"])
    session.configuration.httpCookieStorage?.setCookie(try #require(known))

    #expect(await session.get(server.url("/saml/picture")).text == "/saml/picture ")
    #expect(await session.get(server.url("/saml/more")).text == "/saml/more ")

    #expect(browser.pages.value.map(\.page) == [server.url("/login")])
    #expect(browser.pages.value.map(\.finish) == [server.url("/finished")])
    #expect(browser.pages.value.map(\.cookies) == [["theme"]])
  }

  @Test func bothLabelsAndTheSettingsMakeOne() async throws {
    let browser = Browser()
    let settings = SAPcpmsSettingsParameters(backendURL: server.url("/ignored"), applicationID: "app")
    for authenticator in [
      SAMLAuthenticator(authenticationParameters: parameters), SAMLAuthenticator(using: parameters),
      SAMLAuthenticator(settingsParameters: settings),
    ] {
      authenticator.webViewPresenter = browser
      #expect(await failure(authenticator) == nil)
    }
    #expect(browser.pages.value.map(\.page.path) == ["/login", "/login", "/SAMLAuthLauncher"])
    #expect(
      browser.pages.value.last?.finish == server.url("/SAMLAuthLauncher?finishEndpointParam=someUnusedValue"))
    #expect(SAMLObserver(settingsParameters: settings, webViewPresenter: browser).copy() == nil)
  }

  @Test func everyFailureHasItsCase() async throws {
    func failure(_ browser: Browser?) async -> SAMLError? {
      await self.failure(SAMLAuthenticator(authenticationParameters: parameters, webViewPresenter: browser))
    }
    guard case .webView(let cause)? = await failure(nil) else {
      Issue.record("expected .webView")
      return
    }
    #expect(cause.localizedDescription.contains("webViewPresenter"))
    guard case .cancelled? = await failure(Browser(.cancel)) else {
      Issue.record("expected .cancelled")
      return
    }
    guard case .webView(let error)? = await failure(Browser(.failure)) else {
      Issue.record("expected .webView")
      return
    }
    #expect(error as? TestFailure == TestFailure(name: "no display"))
  }

  @Test func aSecondPageIsRefusedAndASignOutClosesTheFirst() async throws {
    let browser = Browser(.never)
    let authenticator = SAMLAuthenticator(authenticationParameters: parameters, webViewPresenter: browser)
    let session = SAPURLSession.observed(by: SAMLObserver(authenticator: authenticator))
    async let outcome = session.get(server.url("/saml/picture"))
    await browser.pages.wait { $0.count == 1 }

    guard case .authenticationInProgress? = await failure(authenticator) else {
      Issue.record("expected .authenticationInProgress")
      return
    }
    session.clearCredentials()

    #expect(await outcome.error != nil)
    #expect(browser.dismissals.value == 1)
    #expect(browser.pages.value.count == 1)
  }
}
