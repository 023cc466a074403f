import MartletEngine

extension OnboardingInfoKey {
  /// The `OAuth2AuthenticationParameters` of ``OAuth2AuthenticationStep``.
  public static let oauth2AuthenticationParameters = Self("martlet.oauth2AuthenticationParameters")
  /// The `SAMLAuthenticationParameters` of ``SAMLAuthenticationStep``; by default those of the backend.
  public static let samlAuthenticationParameters = Self("martlet.samlAuthenticationParameters")
  /// The `APIKeyAuthenticationConfig` of ``APIKeyAuthenticationStep``, if its initializer has none.
  public static let apiKeyAuthenticationConfig = Self("martlet.apiKeyAuthenticationConfig")
}

/// Signs a user in: registers an observer, and sends one request to ``OnboardingInfoKey/authenticationURL``, which
/// checks the credentials. Its subclasses choose the observer.
///
/// A response with an error status, or a sign-in page that no observer answers, is
/// ``OnboardingError/authenticationFailed(description:response:data:error:)``. A reset removes the credentials that the
/// session has.
open class AuthenticationStep: OnboardingStep {
  /// What is shown while the user signs in; nil, the default, for nothing.
  public var infoScreenText: String?
  /// Whether a user who returns is restored without a network, with the credentials of the last time; true by default.
  /// They are not checked then: the first request that reaches the server does that.
  public var isAllowingOfflineRestore = true

  /// Makes a step that registers nothing, for a session with an observer of the app's own.
  public init() {}

  /// Returns the observer that signs the user in; nil for none.
  open func observer(for context: OnboardingContext) throws -> (any SAPURLSessionObserving)? { nil }

  open func onboard(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    signIn(context, needsServer: true, completionHandler)
  }

  open func restore(context: OnboardingContext, completionHandler: @escaping @Sendable (OnboardingResult) -> Void) {
    signIn(context, needsServer: !isAllowingOfflineRestore, completionHandler)
  }

  open func reset(context: OnboardingContext, completionHandler: @escaping @Sendable () -> Void) {
    context.sapURLSession.clearCredentials()
    completionHandler()
  }

  private func signIn(
    _ context: OnboardingContext, needsServer: Bool,
    _ completionHandler: @escaping @Sendable (OnboardingResult) -> Void
  ) {
    if let infoScreenText { context.presentationDelegate.setInfoText(infoScreenText) }
    do {
      let url: URL = try context.value(.authenticationURL, source: "\(type(of: self))")
      if let observer = try observer(for: context) { context.sapURLSession.register(observer) }
      context.sapURLSession.dataTask(with: url) { data, response, error in
        if !needsServer, (error as? URLError)?.isWithoutNetwork == true { return completionHandler(.success(context)) }
        completionHandler(Self.failure(data, response, error).map { .failed($0) } ?? .success(context))
      }.resume()
    } catch { completionHandler(.failed(error)) }
  }

  /// The error of the SAP modules because of which a token could not be obtained, such as that of a version that may no
  /// longer be used; otherwise the error itself.
  private static func cause(of error: any Error) -> any Error {
    var inner: (any Error)? = error
    while let next = inner {
      if case OAuth2Error.webView = next { return error }  // usually for want of a network, as the outer error says
      if next is any SAPError { return next }
      inner = (next as? URLError)?.underlyingHTTPError ?? (next as? HTTPError)?.underlying
    }
    return error
  }

  private static func failure(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) -> (any Error)? {
    if let error { return cause(of: error) }
    var (text, cause): (String, (any Error)?) = ("no HTTP response", nil)
    if let response = response as? HTTPURLResponse {
      if case .other(let login as SAPLoginRequiredError)? = SAPURLError(response: response, data: Data()) {
        (text, cause) = ("the server sent a sign-in page", login)
      } else if response.statusCode < 400 {
        return nil
      } else {
        text = "status \(response.statusCode)"
      }
    }
    return OnboardingError.authenticationFailed(description: text, response: response, data: data, error: cause)
  }
}

/// Signs a user in with name and password, which the context's presentation delegate asks for: it has to be a
/// `BasicCredentialDiscovery`. The credential is in the credential store, so a user who returns is not asked.
open class BasicAuthenticationStep: AuthenticationStep {
  open override func observer(for context: OnboardingContext) throws -> (any SAPURLSessionObserving)? {
    let discovery: any BasicCredentialDiscovery = try context.delegate(
      "BasicCredentialDiscovery", for: "BasicAuthenticationStep")
    return BasicAuthenticationObserver(
      credentialStore: BasicCredentialStorage(store: context.credentialStore), credentialDiscovery: discovery)
  }
}

/// Signs a user in with OAuth 2.0. The parameters are those of ``OnboardingInfoKey/oauth2AuthenticationParameters``.
/// The token is in the credential store.
open class OAuth2AuthenticationStep: AuthenticationStep {
  private let presenter: (any LoginPagePresenting)?

  /// Makes a step whose login page the context's presentation delegate shows: it has to be a `LoginPagePresenting`.
  public override init() { presenter = nil }

  /// Makes a step.
  ///
  /// - Parameter presenter: shows the login page.
  public init(presenter: any LoginPagePresenting) { self.presenter = presenter }

  open override func observer(for context: OnboardingContext) throws -> (any SAPURLSessionObserving)? {
    let source = "OAuth2AuthenticationStep"
    let parameters: OAuth2AuthenticationParameters = try context.value(.oauth2AuthenticationParameters, source: source)
    let page = try presenter ?? context.delegate("LoginPagePresenting", for: source)
    let authenticator = OAuth2Authenticator(
      authenticationParameters: parameters, sapURLSession: context.sapURLSession, webViewPresenter: page)
    let backend = (context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters)?.backendURL
    return OAuth2Observer(
      authenticator: authenticator, tokenStore: OAuth2TokenStorage(store: context.credentialStore), backend: backend)
  }
}

/// Signs a user in with SAML. The parameters are those of ``OnboardingInfoKey/samlAuthenticationParameters``, or else
/// of the backend.
open class SAMLAuthenticationStep: AuthenticationStep {
  private let presenter: (any CookiePagePresenting)?

  /// Makes a step whose login page the context's presentation delegate shows: it has to be a `CookiePagePresenting`.
  public override init() { presenter = nil }

  /// Makes a step.
  ///
  /// - Parameter presenter: shows the login page.
  public init(presenter: any CookiePagePresenting) { self.presenter = presenter }

  open override func observer(for context: OnboardingContext) throws -> (any SAPURLSessionObserving)? {
    let source = "SAMLAuthenticationStep"
    let parameters =
      try context.info[.samlAuthenticationParameters] as? SAMLAuthenticationParameters
      ?? SAMLAuthenticationParameters(settingsParameters: context.settings(source: source))
    let page = try presenter ?? context.delegate("CookiePagePresenting", for: source)
    return SAMLObserver(
      authenticator: SAMLAuthenticator(authenticationParameters: parameters, webViewPresenter: page),
      authenticationParameters: parameters)
  }
}

/// Identifies the app with an API key, which an observer adds to every request to the backend.
open class APIKeyAuthenticationStep: AuthenticationStep {
  private let config: APIKeyAuthenticationConfig?

  /// Makes a step whose keys are those of ``OnboardingInfoKey/apiKeyAuthenticationConfig``.
  public override init() { config = nil }

  /// Makes a step.
  ///
  /// - Parameter config: has the keys; nil for those of ``OnboardingInfoKey/apiKeyAuthenticationConfig``.
  public init(config: APIKeyAuthenticationConfig?) { self.config = config }

  open override func observer(for context: OnboardingContext) throws -> (any SAPURLSessionObserving)? {
    let source = "APIKeyAuthenticationStep"
    let config = try config ?? context.value(.apiKeyAuthenticationConfig, source: source)
    guard let key = config.apikeys.first else { throw OnboardingError.missingArgument("apikeys", source: source) }
    let backend = (context.info[.sapcpmsSettingsParameters] as? SAPcpmsSettingsParameters)?.backendURL
    return APIKeyAuthenticationObserver(apiKey: key, backend: backend)
  }
}

#if os(Linux)
/// Signs a user in with a client certificate, which the context's presentation delegate obtains: it has to be a
/// `UserIdentityObtaining`. The certificate is in the credential store.
///
/// SAP's steps with a certificate download it from a service of their own: they are
/// `SAPcpmsUserIdentityDiscoveryAuthenticationStep` and `SLSAuthenticationStep`, and not here.
open class UserIdentityAuthenticationStep: AuthenticationStep {
  open override func observer(for context: OnboardingContext) throws -> (any SAPURLSessionObserving)? {
    let discovery: any UserIdentityObtaining = try context.delegate(
      "UserIdentityObtaining", for: "UserIdentityAuthenticationStep")
    return UserIdentityObserver(
      userIdentityDiscovery: discovery, identityStore: UserIdentityStorage(store: context.credentialStore))
  }
}
#endif
