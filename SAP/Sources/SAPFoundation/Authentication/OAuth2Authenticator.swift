@_spi(Toolkit) import MartletEngine
@_spi(Credentials) @_spi(Toolkit) import MartletSemantics
@_spi(Credentials) import MartletSignIn

/// Shows a login page, and returns the URL to which it redirects. It replaces SAP's web views.
///
/// ```swift
/// final class Browser: LoginPagePresenting {
///   func present(
///     _ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void
///   ) {
///     print("open \(page) and paste where it leads:")
///     completionHandler(readLine().flatMap { URL(string: $0) }, nil)
///   }
///   func dismiss() {}
/// }
/// ```
public protocol LoginPagePresenting: AnyObject, Sendable {
  /// Shows a page until it redirects to a URL that begins with `redirect`. Do not load that URL.
  ///
  /// It is called on any thread, for one page at a time. Call the handler once, on any thread: with that URL, with an
  /// error, or with nil for both if the user cancels.
  func present(_ page: URL, until redirect: URL, completionHandler: @escaping @Sendable (URL?, (any Error)?) -> Void)

  /// Closes the page, because the user signed out in the meantime. Call the handler with nil for both.
  func dismiss()
}

/// Obtains tokens with a login page (authorization code grant, RFC 6749 §4.1, with a proof key, RFC 7636), or for the
/// client itself (client credentials grant, §4.4). Both are renewed with the refresh token, if there is one (§6).
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///   authenticationParameters: try OAuth2ClientCredentialsAuthenticationParameters(
///     tokenEndpointURL: tokens, clientID: "reports", clientSecret: secret))
/// let session = SAPURLSession()
/// session.register(OAuth2Observer(authenticator: authenticator, backend: backend))
/// ```
///
/// Token requests are sent only over https or to the loopback interface, without cookies, and their redirects are not
/// followed. A response of more than 1 MiB is an error.
///
/// It fails with ``OAuth2Error``, or with the session's error if the server cannot be reached.
public final class OAuth2Authenticator: OAuth2Authentication, Sendable {
  private enum Kind: Sendable {
    case authorizationCode(OAuth2AuthenticationParameters, any LoginPagePresenting)
    case clientCredentials(OAuth2ClientCredentialsAuthenticationParameters)
  }

  private let kind: Kind
  private let endpoint: TokenEndpoint
  /// The result of the current login page; nil if there is none.
  private let page = Locked<OneShot<URL>?>(nil)

  /// Makes an authenticator that logs a user in.
  ///
  /// - Parameters:
  ///   - authenticationParameters: the endpoints, and the client.
  ///   - sapURLSession: sends the token requests; it may be the one that the tokens are for. A new one by default.
  ///   - webViewPresenter: shows the login page. (SAP's label; its presenters are web views.)
  public init(
    authenticationParameters: OAuth2AuthenticationParameters, sapURLSession: SAPURLSession = SAPURLSession(),
    webViewPresenter: any LoginPagePresenting
  ) {
    kind = .authorizationCode(authenticationParameters, webViewPresenter)
    endpoint = TokenEndpoint(
      url: authenticationParameters.tokenEndpointURL, scopes: authenticationParameters.requestingScopes,
      session: sapURLSession
    ) { request in
      var request = request
      if let secret = authenticationParameters.clientSecret {
        request.setBasic(authenticationParameters.clientID, secret)
      } else {
        request.addToForm([(name: "client_id", value: authenticationParameters.clientID)])
      }
      return request
    }
  }

  /// Makes an authenticator that obtains tokens for the client itself.
  ///
  /// - Parameters:
  ///   - authenticationParameters: the token endpoint, and the client.
  ///   - sapURLSession: sends the token requests; it may be the one that the tokens are for. A new one by default.
  public init(
    authenticationParameters: OAuth2ClientCredentialsAuthenticationParameters,
    sapURLSession: SAPURLSession = SAPURLSession()
  ) {
    kind = .clientCredentials(authenticationParameters)
    endpoint = TokenEndpoint(
      url: authenticationParameters.tokenEndpointURL, scopes: authenticationParameters.requestingScopes,
      session: sapURLSession, identify: authenticationParameters.clientCredentialsHandler)
  }

  public func authenticate(completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void) {
    // A separate `Task` in the caller's context: the token request must not wait for the requests that need the token.
    Task {
      do { completionHandler(try await token(), nil) } catch { completionHandler(nil, error) }
    }
  }

  /// Renews a token with its refresh token; without one, obtains a new token.
  public func refresh(
    token: OAuth2Token, completionHandler: @escaping @Sendable (OAuth2Token?, (any Error)?) -> Void
  ) {
    guard let refreshToken = token.refreshToken else { return authenticate(completionHandler: completionHandler) }
    Task {
      do {
        completionHandler(try await endpoint.token(for: .refreshToken(refreshToken), following: token), nil)
      } catch { completionHandler(nil, error) }
    }
  }

  /// Closes the current login page, if any.
  public func cancelAuthentication() {
    guard case .authorizationCode(_, let presenter) = kind, let page = page.withLock({ $0.take() }) else { return }
    page.answer(.failure(OAuth2Error.cancelled))
    presenter.dismiss()
  }

  private func token() async throws -> OAuth2Token {
    switch kind {
    case .clientCredentials(let parameters):
      return try await endpoint.token(for: .clientCredentials(scopes: parameters.requestingScopes))
    case .authorizationCode(let parameters, let presenter):
      return try await endpoint.token(for: try await grant(parameters, presenter))
    }
  }

  /// Shows the login page, and returns the authorization code grant.
  private func grant(
    _ parameters: OAuth2AuthenticationParameters, _ presenter: any LoginPagePresenting
  ) async throws -> TokenGrant {
    let (request, key) = try request(parameters)
    guard let address = request.url else {
      throw OAuth2Error.invalidArgument(detail: "the authorization endpoint is not a URL that can have a query")
    }
    let gate = OneShot<URL>()
    let isFirst = page.withLock { page in
      defer { page = page ?? gate }
      return page == nil
    }
    guard isFirst else { throw OAuth2Error.authenticationInProgress }
    defer { page.withLock { if $0 === gate { $0 = nil } } }
    presenter.present(address, until: parameters.redirectURL) { url, error in
      gate.answer(
        url.map { .success($0) } ?? .failure(error.map { OAuth2Error.webView(error: $0) } ?? OAuth2Error.cancelled))
    }
    switch request.answer(in: try await gate.wait()) {
    case .code(let code):
      return .authorizationCode(code, redirect: parameters.redirectURL, verifier: key?.verifier)
    case .refused(let refusal): throw OAuth2Error.server(error: OAuth2ServerError(OAuthError(refusal)))
    case .otherIssuer, .foreign: throw OAuth2Error.authorizationCode
    }
  }

  /// Returns the request for a code, and its proof key.
  private func request(
    _ parameters: OAuth2AuthenticationParameters
  ) throws -> (request: AuthorizationCodeRequest, key: ProofKey?) {
    var request = AuthorizationCodeRequest(
      endpoint: parameters.xsuaaAuthorizationURL ?? parameters.authorizationEndpointURL,
      clientID: parameters.clientID, redirect: parameters.redirectURL, scopes: parameters.requestingScopes,
      state: .unguessable)
    request.issuer = parameters.issuer
    request.otherEndpoints = [parameters.authorizationEndpointURL, parameters.tokenEndpointURL]
    guard let chosen = parameters.codeChallengeMethod else { return (request, nil) }
    let method: ProofKey.Method = chosen == .plain ? .plain : .s256
    let key = ProofKey(verifier: .unguessable)
    guard let challenge = key?.challenge(method) else {
      throw OAuth2Error.invalidArgument(detail: "this platform offers no SHA-256 for the code challenge")
    }
    request.challenge = (challenge, method)
    return (request, key)
  }
}

/// Sends token requests (RFC 6749 §3.2).
private struct TokenEndpoint: Sendable, CustomReflectable {
  let url: URL
  /// The requested scopes, which are granted unless the response has others (§5.1).
  let scopes: Set<String>
  let session: SAPURLSession
  /// Adds the client's authentication to the request.
  let identify: @Sendable (URLRequest) throws -> URLRequest

  /// Without user information and query of the URL.
  var customMirror: Mirror { Mirror(self, children: ["url": url.redacted]) }

  /// - Parameter old: the token to renew. Its scopes and refresh token stay valid unless the response has others (§5.1,
  ///   §6).
  func token(for grant: TokenGrant, following old: OAuth2Token? = nil) async throws -> OAuth2Token {
    let request = try request(for: grant)
    let exchange: TokenExchange
    let sent = try HTTPRequest(request, body: nil, of: session)
    do { exchange = try TokenExchange(sent) } catch { throw OAuth2Error.invalidArgument(detail: error.message) }
    let (data, response) = try await session.data(for: request, as: exchange.request)
    guard let response = response as? HTTPURLResponse else { throw OAuth2Error.missingHTTPResponse }
    switch exchange.answer(HTTPStatus(response.statusCode), data) {
    case .body: break
    case .failed(.temporary, _):
      throw OAuth2Error.parse(
        error: "the endpoint is not able to answer now: try again later", httpUrlResponse: response, data: data)
    case .failed(_, let refusal?): throw OAuth2Error.server(error: OAuth2ServerError(refusal))
    case .failed(_, nil):
      throw OAuth2Error.parse(error: "the endpoint refuses the request", httpUrlResponse: response, data: data)
    }
    guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: data) else {
      throw OAuth2Error.parse(error: "the body is not JSON with an access_token", httpUrlResponse: response, data: data)
    }
    if let objection = answer.objection {
      throw OAuth2Error.parse(error: objection, httpUrlResponse: response, data: data)
    }
    return OAuth2Token(
      accessToken: answer.accessToken, tokenType: answer.tokenType,
      expiryDate: answer.seconds.map { Date(timeIntervalSinceNow: $0) },
      scopes: answer.scopes ?? old?.scopes ?? scopes, refreshToken: answer.refreshToken ?? old?.refreshToken)
  }

  /// Returns the request that observers see, with the client's authentication.
  private func request(for grant: TokenGrant) throws -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = SAPURLSession.HTTPMethod.post
    request.setValue(
      SAPURLSession.HTTPContentType.applicationFormURLEncoded,
      forHTTPHeaderField: SAPURLSession.HTTPHeader.contentType)
    request.setValue(
      SAPURLSession.HTTPContentType.applicationJSON, forHTTPHeaderField: SAPURLSession.HTTPHeader.accept)
    request.addToForm(grant.pairs)
    request = try identify(request)
    // If an observer changes the request, its options are taken from the result.
    request.httpShouldHandleCookies = false
    request.cachePolicy = .reloadIgnoringLocalCacheData
    return request
  }
}

/// The error response of an authorization server (RFC 6749 §4.1.2.1, §5.2).
public struct OAuth2ServerError: Error, Sendable, Hashable {
  /// The error code of the standard: `invalid_client`, `invalid_grant`, `access_denied`.
  public let error: String
  /// The server's description, for developers; nil if there is none. Secrets of the request are omitted.
  public let errorDescription: String?
  /// A page about the error; nil if there is none.
  public let errorURI: URL?

  /// Makes an error. (The properties of SAP's type are not published.)
  public init(error: String, errorDescription: String? = nil, errorURI: URL? = nil) {
    self.error = error
    self.errorDescription = errorDescription
    self.errorURI = errorURI
  }

  init(_ refusal: OAuthError) {
    self.init(error: refusal.code, errorDescription: refusal.detail, errorURI: refusal.page)
  }
}

extension OAuth2ServerError: CustomReflectable {
  /// A mirror without the query of the page.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "error": error, "errorDescription": errorDescription as Any, "errorURI": errorURI?.redacted as Any,
      ])
  }
}

/// The error of an authentication with OAuth 2.0. If the network failed, the error is the session's, usually a
/// `URLError`.
public enum OAuth2Error: Error, Sendable {
  /// The server refused the request.
  case server(error: OAuth2ServerError)
  /// The login page could not be shown.
  case webView(error: any Error)
  /// An argument is not valid, or the token endpoint is neither https nor on the loopback interface.
  case invalidArgument(detail: String)
  /// The session failed. Never thrown by this module, which throws the session's own error.
  case http(error: any Error, statusCode: Int?, response: String?)
  /// There is no HTTP response.
  case missingHTTPResponse
  /// The response is not a token. Do not show the data, which may contain part of a token.
  case parse(error: String, httpUrlResponse: HTTPURLResponse, data: Data)
  /// A login page is already shown.
  case authenticationInProgress
  /// The login ended at a URL without a code, or with the code of another request or server (`iss`, RFC 9207).
  case authorizationCode
  /// The token was refused. Never thrown by this module: the caller gets the 401.
  case tokenRejected
  /// The app is in the background. Never thrown by this module.
  case backgroundAuthentication
  /// The user cancelled.
  case cancelled
  /// The page was loaded again. Never thrown by this module.
  case webViewReloaded
}

extension OAuth2Error: CustomReflectable {
  /// A mirror with the description only: the data of a response may contain part of a token.
  public var customMirror: Mirror { Mirror(self, children: ["error": description]) }
}

extension OAuth2Error: SAPError {
  /// The error in a few words, without tokens.
  public var description: String {
    switch self {
    case .server(let error):
      "The authorization server refused the request: \(error.error)\(error.errorDescription.map { " (\($0))" } ?? "")."
    case .webView: "The login page could not be shown."
    case .invalidArgument(let detail): "Invalid argument: \(detail)"
    case .http(_, let status, _): "The request failed\(status.map { " with status \($0)" } ?? "")."
    case .missingHTTPResponse: "There is no HTTP response."
    case .parse(let error, let response, _): "The response is not a token (status \(response.statusCode)): \(error)"
    case .authenticationInProgress: "A login is already in progress."
    case .authorizationCode: "The login ended without a code."
    case .tokenRejected: "The token was refused."
    case .backgroundAuthentication: "The app is in the background."
    case .cancelled: "The login was cancelled."
    case .webViewReloaded: "The login page was loaded again."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
