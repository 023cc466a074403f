@_spi(Credentials) public import MartletEngine
import MartletSemantics
import Synchronization

/// Logs in when responses say that a login is required, once for all of their requests, and then sends these requests
/// again.
///
/// Use it for servers that ask for a login with their own page or field instead of a 401, and then recognize the user
/// by a cookie:
///
/// ```swift
/// var configuration = SessionConfiguration()
/// configuration.interceptors = [
///   LoginInterceptor(isChallenge: { response, _ in response.head.fields["X-Login"] == "required" }) { call in
///     try await login.fetchSessionCookie(call.session)        // may use the very same session
///   }
/// ]
/// ```
///
/// - One login runs at a time. All requests that are challenged during the login wait for it. A request that was sent
///   before the end of the login and is challenged afterwards is sent again without another login. Cancelling a request
///   ends its wait, not the login.
/// - A request that is challenged again after a login fails with ``Martlet/HTTPError/Kind/authenticationFailed``.
/// - If the closure throws, the requests that wait fail with its error, and so do requests that were sent before the
///   failure and are challenged afterwards. Later requests try again.
/// - A request whose body can be read only once (``Martlet/RequestBody``), and was read already, fails with
///   ``Martlet/HTTPError/Kind/bodyNotReplayable`` after the login.
/// - A challenge in a stored response does not start a login: the request is sent to the server.
/// - Requests of the closure may use the same session; the closure handles their challenges itself (see
///   ``Martlet/CallContext``).
///
/// Use one interceptor for one session only.
public final class LoginInterceptor: Interceptor {
  /// Returns whether a response requires a login. Called for every response; it should be fast.
  public typealias Challenge = @Sendable (_ response: HTTPResponse, _ call: Call) -> Bool
  /// Logs in. The argument is the call that was challenged first. Called by one task at a time;
  /// after a sign-out, an earlier login may still run, which no longer counts.
  public typealias Login = @Sendable (_ call: Call) async throws -> Void

  private struct CallState: Sendable {
    /// The number of the last login when the attempt began; nil before the first.
    var login: Int?
    /// The number of failed logins when the attempt began.
    var failures = 0
    var hasLoggedIn = false
  }

  private struct Failures: Sendable {
    var count = 0
    var last: (any Error)?
  }

  private let isChallenge: Challenge
  private let login: Login
  private let rejection: @Sendable () -> any Error
  private let logins: Renewal<Void>
  private let failures = Mutex(Failures())
  private let signOut = SignOutMark()
  private let states = CallLocal(CallState())

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - isChallenge: whether a response requires a login.
  ///   - login: logs in.
  public convenience init(isChallenge: @escaping Challenge, login: @escaping Login) {
    self.init(isChallenge: isChallenge, login: login) {
      HTTPError(.authenticationFailed, "the server requires a login again, directly after a login")
    }
  }

  /// Makes an interceptor.
  ///
  /// - Parameters:
  ///   - isChallenge: whether a response requires a login.
  ///   - login: logs in.
  ///   - rejection: returns the error of a request that is challenged again after a login.
  @_spi(Credentials) public init(
    isChallenge: @escaping Challenge, login: @escaping Login, rejection: @escaping @Sendable () -> any Error
  ) {
    self.isChallenge = isChallenge
    self.login = login
    self.rejection = rejection
    logins = Renewal(nil, of: "the login", signOut: signOut)
  }

  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    call[states].login = logins.number
    call[states].failures = failures.withLock { $0.count }
    return .send(request)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, !signOut.isAfter(call.id), isChallenge(response, call) else {
      return .accept
    }
    var next = attempt.request
    if response.networkHead == nil, next.options.cachePolicy != .reloadIgnoringCacheData {
      guard next.options.cachePolicy != .returnCacheDataDontLoad else {
        throw HTTPError(
          .notCached, "the stored response requires a login, and the cache policy forbids loading another")
      }
      next.options.cachePolicy = .reloadIgnoringCacheData
      return .resend(next, reason: "the stored response requires a login")
    }
    guard !call[states].hasLoggedIn else { throw rejection() }
    call[states].hasLoggedIn = true
    guard try await logIn(after: call[states], in: call) else { return .accept }
    try signOut.check(call.id)
    guard next.body.canBeSent else {
      throw HTTPError(
        .bodyNotReplayable,
        "the server required a login, which has succeeded, but the body can be read only once: send the request again")
    }
    next.options.cachePolicy = .reloadIgnoringCacheData
    return .resend(next, reason: "the server required a login")
  }

  /// Removes the result of the last login because the user signs out. The result of a running login is discarded, and
  /// its waiters get ``Martlet/HTTPError/signedOut``. Requests that began before the sign-out do not start a login:
  /// their callers get the challenge.
  @_spi(Credentials) public func forget() {
    logins.forget()
    _ = failures.withLock { failures in
      defer { failures = Failures() }
      return failures.last  // released outside of the lock, because its deinitializer may be other code
    }
  }

  /// Waits for a login, unless there was one since the attempt began. Returns false if the login waits for this
  /// request.
  private func logIn(after attempt: CallState, in call: Call) async throws -> Bool {
    let failure = failures.withLock { $0.count > attempt.failures ? $0.last : nil }
    if let failure { throw failure }
    let outcome = try await logins.value(insteadOf: { $0.number == attempt.login }, by: call) { [self] _ in
      do { return try await login(call) } catch {
        _ = failures.withLock { failures in
          let former = failures.last
          // Under the lock: the next user's requests must not get the error.
          if !signOut.isAfter(call.id) { (failures.count, failures.last) = (failures.count + 1, error) }
          return former
        }
        throw error
      }
    }
    return outcome.version != nil
  }
}
