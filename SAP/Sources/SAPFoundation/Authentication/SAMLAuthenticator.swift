@_spi(Toolkit) import MartletEngine

/// Shows a page that logs the user in and sets cookies. It replaces SAP's `WKWebViewPresenting`.
///
/// SAP's presenter returns a `WKWebView`, which does not exist on Linux. An app implements this protocol over the
/// browser that it has: a WebKit view of GTK, a remote-controlled browser, a terminal.
public protocol CookiePagePresenting: AnyObject, Sendable {
  /// Shows a page until it redirects to a URL that begins with `finish`, and returns the cookies that the page then
  /// has.
  ///
  /// It is called on any thread, for one page at a time. Call the handler once, on any thread: with the cookies of all
  /// sites that the login visited, with an error, or with nil for both if the user cancels.
  ///
  /// - Parameters:
  ///   - page: the URL to load.
  ///   - cookies: the session's cookies for the page. Give them to the browser before it loads the page.
  ///   - finish: the URL to which the last page redirects. Its body is of no use.
  ///   - completionHandler: gets the result.
  func present(
    _ page: URL, with cookies: [HTTPCookie], until finish: URL,
    completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void)

  /// Closes the page, because the user signed out in the meantime. Call the handler with nil for both.
  func dismiss()
}

/// Logs a user in with SAML: shows the identity provider's page, and stores the cookies that it sets in the session.
///
/// ```swift
/// let authenticator = SAMLAuthenticator(
///   authenticationParameters: SAMLAuthenticationParameters(settingsParameters: settings), webViewPresenter: browser)
/// let session = SAPURLSession()
/// session.register(SAMLObserver(authenticator: authenticator))
/// ```
///
/// SAP's class has a web view by default. Here an app gives a ``CookiePagePresenting``, in the initializer or later. A
/// login without one fails with ``SAMLError/webView(error:)``. The session needs cookies of its own
/// (``SAPHTTPCookieStorage``), which a session has by default. Any thread may use the authenticator.
public final class SAMLAuthenticator: SAMLAuthentication, Sendable {
  private struct State {
    var presenter: (any CookiePagePresenting)?
    /// The result of the current page; nil if there is none.
    var page: OneShot<[HTTPCookie]>?
  }

  private let parameters: SAMLAuthenticationParameters
  private let state: Locked<State>

  /// Makes an authenticator.
  ///
  /// - Parameters:
  ///   - authenticationParameters: the URLs of the page.
  ///   - webViewPresenter: shows the page; nil, the default, if ``webViewPresenter`` is set later.
  public init(
    authenticationParameters: SAMLAuthenticationParameters, webViewPresenter: (any CookiePagePresenting)? = nil
  ) {
    parameters = authenticationParameters
    state = Locked(State(presenter: webViewPresenter))
  }

  /// Makes an authenticator. SAP's guide of presenters has this label.
  public convenience init(using authenticationParameters: SAMLAuthenticationParameters) {
    self.init(authenticationParameters: authenticationParameters)
  }

  /// Makes an authenticator for Mobile Services.
  public convenience init(
    settingsParameters: SAPcpmsSettingsParameters, webViewPresenter: (any CookiePagePresenting)? = nil
  ) {
    self.init(
      authenticationParameters: SAMLAuthenticationParameters(settingsParameters: settingsParameters),
      webViewPresenter: webViewPresenter)
  }

  /// Shows the page. A change takes effect with the next login.
  public var webViewPresenter: (any CookiePagePresenting)? {
    get { state.withLock { $0.presenter } }
    set { state.withLock { $0.presenter = newValue } }
  }

  public func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
    guard let storage = session.cookieStorage else {
      return completionHandler(SAMLError.invalidArgument(detail: "the session has no cookies to log in with"))
    }
    let beginning = storage.beginning()
    let known = storage.cookies(for: parameters.authorizationEndpointURL) ?? []
    authenticate(cookies: known) { cookies, error in
      for cookie in cookies ?? [] { storage.setCookie(cookie, since: beginning) }
      completionHandler(error ?? (storage.hasSignedOut(since: beginning) ? SAMLError.cancelled : nil))
    }
  }

  /// Logs in outside a session, and returns the cookies that the page then has.
  public func authenticate(
    cookies: [HTTPCookie], completionHandler: @escaping @Sendable ([HTTPCookie]?, (any Error)?) -> Void
  ) {
    // In the caller's context: requests of the page must not wait for the requests that wait for the login.
    Task {
      do { completionHandler(try await newCookies(with: cookies), nil) } catch { completionHandler(nil, error) }
    }
  }

  /// Closes the current page, if any. Its login fails with ``SAMLError/cancelled``.
  public func cancelAuthentication() {
    let (presenter, page) = state.withLock { state in
      defer { state.page = nil }
      return (state.presenter, state.page)
    }
    guard let page else { return }
    page.answer(.failure(SAMLError.cancelled))
    presenter?.dismiss()
  }

  private func newCookies(with known: [HTTPCookie]) async throws -> [HTTPCookie] {
    let result = OneShot<[HTTPCookie]>()
    let (presenter, isFirst) = state.withLock { state in
      defer { state.page = state.page ?? (state.presenter == nil ? nil : result) }
      return (state.presenter, state.page == nil)
    }
    guard let presenter else { throw SAMLError.webView(error: MissingPresenter()) }
    guard isFirst else { throw SAMLError.authenticationInProgress }
    defer { state.withLock { if $0.page === result { $0.page = nil } } }
    presenter.present(
      parameters.authorizationEndpointURL, with: known, until: parameters.finishEndpointURL
    ) { cookies, error in
      result.answer(
        cookies.map { .success($0) } ?? .failure(error.map { SAMLError.webView(error: $0) } ?? SAMLError.cancelled))
    }
    return try await result.wait()
  }
}

/// The reason why no page can be shown.
private struct MissingPresenter: SAPError {
  var description: String { "Nothing can show the login page: set the authenticator's webViewPresenter." }
  var errorDescription: String? { description }
}

extension SAMLAuthenticationParameters {
  /// Makes the parameters of Mobile Services: the page is `/SAMLAuthLauncher` of the backend, and the login ends at
  /// `/SAMLAuthLauncher?finishEndpointParam=someUnusedValue`. (SAP has not published them; public apps use these.)
  public init(settingsParameters: SAPcpmsSettingsParameters) {
    self.init(
      authorizationEndpointURL: settingsParameters.hostURL("/SAMLAuthLauncher"),
      finishEndpointURL: settingsParameters.hostURL(
        "/SAMLAuthLauncher", query: "finishEndpointParam=someUnusedValue"))
  }
}

extension SAMLObserver {
  /// Makes an observer for Mobile Services. (SAP's initializer has no second parameter, because it has a web view.)
  public convenience init(
    settingsParameters: SAPcpmsSettingsParameters, webViewPresenter: any CookiePagePresenting
  ) {
    self.init(
      authenticator: SAMLAuthenticator(settingsParameters: settingsParameters, webViewPresenter: webViewPresenter))
  }
}
