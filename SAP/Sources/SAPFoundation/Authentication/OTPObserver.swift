import MartletEngine

/// The response field that requests a one-time password: `x-smp-authentication`.
public let OTPChallengeHeaderName = "x-smp-authentication"
/// The field's value in such a response: `otp-challenge`.
public let OTPChallengeHeaderValue = "otp-challenge"

/// Lets the user enter a one-time password. It shows the server's page and stores the session cookies that the page
/// sets.
///
/// SAP has a class `OTPAuthenticator` with a web view instead. This module has no web view, so the app shows the page.
/// Its URLs are in ``OTPParameters``.
public protocol OTPAuthentication {
  /// Asks the user for the password. Store the cookies that the page sets in the session:
  /// `session.configuration.httpCookieStorage?.setCookie(cookie)`.
  ///
  /// It is called on any thread, for one request at a time. Call the handler once, on any thread. Requests of the
  /// session do not wait for this login if they are made within the call or in a `Task` that begins there. Requests
  /// made on another thread may wait for it, unless they are made in the call's `CallContext`. ``OAuth2Authentication``
  /// says how long. Requests and cookies of such code are refused once the user has signed out.
  func authenticate(session: SAPURLSession, completionHandler: @escaping @Sendable ((any Error)?) -> Void)

  /// Closes the page, because the user has signed out in the meantime. Call the handler with ``OTPError/cancelled``.
  func cancelAuthentication()
}

/// The page for a one-time password, and the field with which a server requests one.
public struct OTPParameters: Sendable, Hashable {
  /// The page to show.
  public let authorizationEndpointURL: URL
  /// The URL to which the page redirects when the login is complete.
  public let finishEndpointURL: URL
  /// The response field that requests a password.
  public let challengeHeaderName: String
  /// The field's value in such a response.
  public let challengeHeaderValue: String

  /// Makes parameters; the field is that of Mobile Services by default.
  public init(
    authorizationEndpointURL: URL, finishEndpointURL: URL, challengeHeaderName: String = OTPChallengeHeaderName,
    challengeHeaderValue: String = OTPChallengeHeaderValue
  ) {
    self.authorizationEndpointURL = authorizationEndpointURL
    self.finishEndpointURL = finishEndpointURL
    self.challengeHeaderName = challengeHeaderName
    self.challengeHeaderValue = challengeHeaderValue
  }
}

extension OTPParameters: LoginParameters, CustomReflectable {
  /// A mirror without user information and queries of the URLs.
  public var customMirror: Mirror { mirrorWithoutSecrets }
}

/// The error of a login with a one-time password.
public enum OTPError: Error, Sendable {
  /// The page could not be shown.
  case webView(error: any Error)
  /// A page is already shown.
  case authenticationInProgress
  /// The server requested a password again right after the user entered one.
  case credentialsRejected
  /// The app is in the background. Never thrown by this module.
  case backgroundAuthentication
  /// The user cancelled.
  case cancelled
}

/// Lets the user enter a one-time password when a server requests one, and sends the request again. The caller gets
/// only the last response.
///
/// ```swift
/// let session = SAPURLSession()
/// session.register(OTPObserver(authenticator: passwordPage))
/// ```
///
/// A server requests a password with status 200 and the field `x-smp-authentication: otp-challenge`. Everything else is
/// as with ``SAMLObserver``:
///
/// - The user is asked once for all requests.
/// - A request that is challenged again fails with ``OTPError/credentialsRejected``.
/// - Cookies identify the user.
///
/// The names of the initializer's parameters are not SAP's.
open class OTPObserver: BuiltInObserver {
  private let challenge: LoginChallenge

  /// Makes an observer.
  ///
  /// - Parameters:
  ///   - authenticator: lets the user enter a password.
  ///   - challengeHeaderName: the response field that requests one; that of Mobile Services by default.
  ///   - challengeHeaderValue: the field's value; that of Mobile Services by default.
  public init(
    authenticator: any OTPAuthentication, challengeHeaderName: String = OTPChallengeHeaderName,
    challengeHeaderValue: String = OTPChallengeHeaderValue
  ) {
    let authenticator = UncheckedSendable(value: authenticator)
    challenge = LoginChallenge(
      field: (challengeHeaderName, challengeHeaderValue), rejection: OTPError.credentialsRejected,
      authenticate: { authenticator.value.authenticate(session: $0, completionHandler: $1) },
      cancel: { authenticator.value.cancelAuthentication() })
    super.init()
    challenge.setObserver(self)
  }

  /// Makes an observer for the field in the parameters.
  public convenience init(authenticator: any OTPAuthentication, authenticationParameters: OTPParameters) {
    self.init(
      authenticator: authenticator, challengeHeaderName: authenticationParameters.challengeHeaderName,
      challengeHeaderValue: authenticationParameters.challengeHeaderValue)
  }

  /// Whether a response requests a password. It is called on any thread, for every response from the origin that the
  /// app addressed, and should be fast.
  open func isChallenge(dataTask: SAPURLSessionTask, response: URLResponse) -> Bool {
    challenge.isAsked(by: response)
  }
}

extension OTPObserver: InterceptingObserver, CredentialHolder, LoginObserver {
  var interceptor: any Interceptor { challenge.interceptor }

  var keeper: any CredentialKeeper { challenge.logins }
}

extension OTPError: SAPError {
  /// The error in a few words.
  public var description: String {
    switch self {
    case .webView: "The page for the password could not be shown."
    case .authenticationInProgress: "A login is already in progress."
    case .credentialsRejected: "The server asks for a password again right after one was entered."
    case .backgroundAuthentication: "The app is in the background."
    case .cancelled: "No password was entered."
    }
  }

  /// The description.
  public var errorDescription: String? { description }
}
