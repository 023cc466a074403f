import MartletEngine

/// The response field that requests a login with SAML: `com.sap.cloud.security.login`.
public let SAMLChallengeHeaderName = "com.sap.cloud.security.login"
/// The field's value in such a response: `login-request`.
public let SAMLChallengeHeaderValue = "login-request"

/// Logs a user in with SAML. It shows the identity provider's page and stores the session cookies that the page sets.
///
/// This module has no web view, so the app shows the page: in a `WKWebView`, a browser, or a terminal. Its URLs are in
/// ``SAMLAuthenticationParameters``. (SAP's protocol has a second method, which takes and returns cookies. This module
/// never calls it. A type that has it can conform, too.)
public protocol SAMLAuthentication {
  /// Logs in. Store the cookies that the page sets in the session:
  /// `session.configuration.httpCookieStorage?.setCookie(cookie)`.
  ///
  /// It is called on any thread, for one request at a time. Call the handler once, on any thread. Requests of the
  /// session do not wait for this login if they are made within the call or in a `Task` that begins there. Requests
  /// made on another thread may wait for it, unless they are made in the call's `CallContext`. ``OAuth2Authentication``
  /// says how long. Requests and cookies of such code are refused once the user has signed out.
  func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Closes the page, because the user has signed out in the meantime. Call the handler with ``SAMLError/cancelled``.
  func cancelAuthentication()
}

/// The page of a login with SAML, and the field with which a server requests one.
public struct SAMLAuthenticationParameters: Sendable, Hashable {
  /// The page to show.
  public let authorizationEndpointURL: URL
  /// The URL to which the page redirects when the login is complete.
  public let finishEndpointURL: URL
  /// The response field that requests a login.
  public let challengeHeaderName: String
  /// The field's value in such a response.
  public let challengeHeaderValue: String

  /// Makes parameters; the field is that of Mobile Services by default.
  public init(
    authorizationEndpointURL: URL, finishEndpointURL: URL, challengeHeaderName: String = SAMLChallengeHeaderName,
    challengeHeaderValue: String = SAMLChallengeHeaderValue
  ) {
    self.authorizationEndpointURL = authorizationEndpointURL
    self.finishEndpointURL = finishEndpointURL
    self.challengeHeaderName = challengeHeaderName
    self.challengeHeaderValue = challengeHeaderValue
  }
}

extension SAMLAuthenticationParameters: LoginParameters, CustomReflectable {
  /// A mirror without user information and queries of the URLs.
  public var customMirror: Mirror { mirrorWithoutSecrets }
}

/// The error of a login with SAML.
public enum SAMLError: Error, Sendable {
  /// The page could not be shown.
  case webView(error: any Error)
  /// An argument is not valid.
  case invalidArgument(detail: String)
  /// A page is already shown.
  case authenticationInProgress
  /// The server requested a login again right after one.
  case credentialsRejected
  /// The app is in the background. Never thrown by this module.
  case backgroundAuthentication
  /// The user cancelled.
  case cancelled
  /// The page was loaded again. Never thrown by this module.
  case webViewReloaded
}

/// Logs the user in with SAML when a server requests it, and sends the request again. The caller gets only the last
/// response.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(SAMLObserver(authenticator: loginPage))
/// ```
///
/// A server requests a login with status 200 and the field `com.sap.cloud.security.login: login-request`. One login
/// serves all requests that are challenged while it runs. A request that is challenged again after the login fails with
/// ``SAMLError/credentialsRejected``. If the authenticator fails, all requests that waited for it fail with its error,
/// and the next request tries again. A body that can be read only once cannot be sent again: give uploads a closure
/// that makes a new stream.
///
/// Cookies identify the user, and the authenticator stores them in one session: register an observer with one session
/// only. After a redirect to another origin, no login begins. The names of the initializer's parameters are not SAP's:
/// its `init(settingsParameters:)` uses a web view.
open class SAMLObserver: BuiltInObserver {
  private let challenge: LoginChallenge

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - authenticator: logs the user in.
  ///   - challengeHeaderName: the response field that requests a login; that of Mobile Services by default.
  ///   - challengeHeaderValue: the field's value; that of Mobile Services by default.
  public init(
    authenticator: any SAMLAuthentication, challengeHeaderName: String = SAMLChallengeHeaderName,
    challengeHeaderValue: String = SAMLChallengeHeaderValue
  ) {
    let authenticator = UncheckedSendable(value: authenticator)
    challenge = LoginChallenge(
      field: (challengeHeaderName, challengeHeaderValue), rejection: SAMLError.credentialsRejected,
      authenticate: { authenticator.value.authenticate(session: $0, completionHandler: $1) },
      cancel: { authenticator.value.cancelAuthentication() })
    super.init()
    challenge.setObserver(self)
  }

  /// Makes an observer for the field in the parameters.
  public convenience init(
    authenticator: any SAMLAuthentication, authenticationParameters: SAMLAuthenticationParameters
  ) {
    self.init(
      authenticator: authenticator, challengeHeaderName: authenticationParameters.challengeHeaderName,
      challengeHeaderValue: authenticationParameters.challengeHeaderValue)
  }

  /// Whether a response requests a login. It is called on any thread, for every response from the origin that the app
  /// addressed, and should be fast.
  open func isChallenge(dataTask: SAPURLSessionTask, response: URLResponse) -> Bool {
    challenge.isAsked(by: response)
  }
}

extension SAMLObserver: InterceptingObserver, CredentialHolder, LoginObserver {
  var interceptor: any Interceptor { challenge.interceptor }

  var keeper: any CredentialKeeper { challenge.logins }
}

extension SAMLError: SAPError {
  /// The error in a few words.
  public var description: String {
    switch self {
    case .webView: "The login page could not be shown."
    case .invalidArgument(let detail): "Invalid argument: \(detail)"
    case .authenticationInProgress: "A login is already in progress."
    case .credentialsRejected: "The server asks for a login again right after one."
    case .backgroundAuthentication: "The app is in the background."
    case .cancelled: "The login was cancelled."
    case .webViewReloaded: "The login page was loaded again."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
