@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
@_spi(Credentials) import MartletSignIn

/// The parameters of ``SAMLObserver`` and ``OTPObserver``.
protocol LoginParameters {
  var authorizationEndpointURL: URL { get }
  var finishEndpointURL: URL { get }
  var challengeHeaderName: String { get }
  var challengeHeaderValue: String { get }
}

extension LoginParameters {
  /// A mirror without user information and queries of the URLs.
  var mirrorWithoutSecrets: Mirror {
    Mirror(
      self,
      children: [
        "authorizationEndpointURL": authorizationEndpointURL.redacted,
        "finishEndpointURL": finishEndpointURL.redacted, "challengeHeaderName": challengeHeaderName,
        "challengeHeaderValue": challengeHeaderValue,
      ])
  }
}

/// The common part of ``SAMLObserver`` and ``OTPObserver``: if a response has a certain field, it logs in once for all
/// such requests, and sends them again (with a ``MartletSignIn/LoginInterceptor``).
///
/// Only responses of the origin that the app addressed are challenges: no login begins after a redirect to another.
final class LoginChallenge: Sendable {
  private struct WeakObserver {
    weak var observer: (any LoginObserver)?
  }

  let interceptor: LoginInterceptor
  /// The logins, which a sign-out ends.
  let logins: RunningLogins
  private let field: (name: String, value: String)
  private let observer: Locked<WeakObserver>

  /// - Parameters:
  ///   - field: the field with which a server demands a login, and its value.
  ///   - rejection: the error of a request that gets another challenge after the login.
  ///   - authenticate: logs the user in.
  ///   - cancel: ends a running login.
  init(
    field: (name: String, value: String), rejection: any Error & Sendable,
    authenticate: @escaping @Sendable (SAPURLSession, @escaping @Sendable ((any Error)?) -> Void) -> Void,
    cancel: @escaping @Sendable () -> Void
  ) {
    let (logins, observer) = (RunningLogins(), Locked(WeakObserver()))
    (self.field, self.logins, self.observer) = (field, logins, observer)
    interceptor = LoginInterceptor(
      isChallenge: { response, call in
        guard let task = call[SAPURLSessionTask.ofCall], let shown = response.urlResponse,
          call.askedURL.flatMap({ Origin($0) }) == Origin(response.url)
        else { return false }
        return observer.withLock { $0.observer }?.isChallenge(dataTask: task, response: shown) ?? false
      },
      login: { call in
        guard let task = call[SAPURLSessionTask.ofCall] else { return }
        logins.begin(cancel)
        defer { logins.end() }
        try task.session.signOut.check(task.begun)
        guard !task.session.refusesLogins else { throw SecureStorageError.closed }
        let begun = task.session.cookieStorage?.beginning(of: task.begun) ?? task.begun
        let _: Void? = try await firstResult(of: begun) { done in authenticate(task.session) { done(nil, $0) } }
      },
      rejection: { rejection })
    logins.setInterceptor(interceptor)
  }

  /// Sets the observer that decides whether a response is a challenge. It is held weakly, because it holds this object.
  func setObserver(_ observer: any LoginObserver) { self.observer.withLock { $0.observer = observer } }

  /// Whether a response has the status 200 and the field with its value, in upper or lower case.
  func isAsked(by response: URLResponse) -> Bool {
    guard let response = response as? HTTPURLResponse, response.statusCode == 200,
      let value = response.value(forHTTPHeaderField: field.name)
    else { return false }
    return ASCII.equalIgnoringCase(ASCII.trimmed(value), field.value)
  }
}

/// The logins of one observer.
final class RunningLogins: CredentialKeeper {
  private struct State {
    /// The number of running logins. A sign-out does not wait for the one that it ends, so several may run.
    var count = 0
    /// Ends a login; nil while none is running.
    var cancel: (@Sendable () -> Void)?
    /// It holds the app's object, and only the calls that use it keep it alive.
    weak var interceptor: LoginInterceptor?
  }

  private let state = Locked(State())

  func setInterceptor(_ interceptor: LoginInterceptor) { state.withLock { $0.interceptor = interceptor } }

  func begin(_ cancel: @escaping @Sendable () -> Void) {
    state.withLock { ($0.count, $0.cancel) = ($0.count + 1, cancel) }
  }

  func end() {
    state.withLock { state in
      state.count -= 1
      if state.count == 0 { state.cancel = nil }
    }
  }

  /// Ends a running login, and forgets an earlier one.
  func removeCredentials() {
    let (interceptor, cancel) = state.withLock { ($0.interceptor, $0.cancel) }
    interceptor?.forget()
    cancel?()
  }
}

/// An observer whose subclasses may decide which responses demand a login.
protocol LoginObserver: AnyObject {
  func isChallenge(dataTask: SAPURLSessionTask, response: URLResponse) -> Bool
}
