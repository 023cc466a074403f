@_spi(Toolkit) public import MartletSemantics

/// Sends an access token with every request to its origins (Bearer, RFC 6750), and renews it when it expires.
///
/// ```swift
/// let tokens = TokenSource(stored, for: .origin(of: api)) { old in
///   try await login.refresh(old?.refreshToken)        // may use the very same session
/// }
/// configuration.credentials = [tokens]
/// ```
///
/// For the tokens of an OAuth 2 server, ``MartletSignIn/OAuthClient/tokens(for:by:)`` makes a source.
///
/// The token is renewed shortly before it expires (see ``AccessToken/expires``), and after a 401. The closure runs once
/// at a time, in its own task, and all requests that need the new token wait for it: a thousand requests with an
/// expired token cause one renewal. If a request gets a 401 for an old token while a newer one is available, it is sent
/// again with the newer one.
///
/// - **Second refusal.** A request renews the token once at most. If the new token is refused too, the caller gets the
///   401. The same holds after `insufficient_scope` and `invalid_request` (RFC 6750 §3.1), where a new token would not
///   help.
/// - **The closure throws.** Until the token expires, requests are still sent with it. Afterwards, or after a 401, all
///   waiting requests fail with ``HTTPError/Kind/authenticationFailed`` and the error as ``HTTPError/underlying``; the
///   next request tries again. An ``HTTPError`` that means that a server could not be reached keeps its kind, so that
///   it is not mistaken for a sign-out. A stored response may then answer the request if its cache policy and
///   ``RequestOptions/partition`` allow that; otherwise its ``RetryPolicy`` applies.
/// - **The closure returns nil.** There is no token: requests are sent without one, and the caller handles a 401.
/// - **Cancellation.** Cancelling a request ends its wait, but never the renewal: the server may have invalidated the
///   old refresh token already. The new token is kept for the next request.
/// - **Requests of the closure.** They may use the same session. They are sent without a token, and the closure handles
///   their 401. The engine recognizes them by their ``CallContext``, and requests that obtain an OAuth 2 token (RFC
///   6749 §3) by their form. It cannot recognize a request that the closure starts in a detached task or on a dispatch
///   queue. Like any request that begins during a renewal, such a request waits for the token for its
///   ``RequestOptions/responseTimeout`` (after a 401 five times as long). Then it is sent without one. Give such a task
///   the context, or such a request its own `Authorization`.
///
/// Tokens are only as secret as the connection: use a scope of https origins, and http only for the loopback interface.
public final class TokenSource: CredentialSource {
  /// Returns the next token, or nil if there is none. The argument is the last token; nil if there was none. Called by
  /// one task at a time; after ``use(_:)``, an earlier call may still run, whose result is discarded.
  public typealias Refresh = @Sendable (_ old: AccessToken?) async throws -> AccessToken?

  public let scope: CredentialScope
  private let now: @Sendable () -> Date
  private let refresh: Refresh?
  private let renewal: Renewal<Received>
  private let states = CallLocal(CallState())

  private struct Received: Sendable {
    let token: AccessToken
    let date: Date
    /// The value of `Authorization`.
    let authorization: String

    init(token: AccessToken, date: Date) {
      self.token = token
      self.date = date
      authorization = token.authorization
    }
  }

  private struct CallState: Sendable {
    /// The `Authorization` of the last attempt, and the number of its token.
    var used: (authorization: String, number: Int)?
    /// Whether the call has got another token, before its request was sent or after a 401.
    var hasRenewed = false
  }

  private init(
    _ token: AccessToken?, _ scope: CredentialScope, _ now: @escaping @Sendable () -> Date, _ refresh: Refresh?,
    _ signOut: SignOutMark = SignOutMark()
  ) {
    self.scope = scope
    self.now = now
    self.refresh = refresh
    renewal = Renewal(token.map { Received(token: $0, date: now()) }, of: "the access token", signOut: signOut)
  }

  /// Makes a source with a token that is not renewed; ``use(_:)`` replaces it.
  ///
  /// - Parameters:
  ///   - token: the token; nil for none.
  ///   - scope: the origins to which it may be sent.
  public convenience init(_ token: AccessToken?, for scope: CredentialScope) {
    self.init(token, scope, { .now }, nil)
  }

  /// Makes a source that renews its token.
  ///
  /// - Parameters:
  ///   - token: the first token; nil by default, and then the first request waits for the closure.
  ///   - scope: the origins to which the tokens may be sent.
  ///   - now: the current time, for tests; the system's clock by default.
  ///   - refresh: returns the next token.
  public convenience init(
    _ token: AccessToken? = nil, for scope: CredentialScope, now: @escaping @Sendable () -> Date = { .now },
    refresh: @escaping Refresh
  ) {
    self.init(token, scope, now, refresh)
  }

  /// - Parameter signOut: set when the user signs out.
  @_spi(Credentials) public convenience init(
    _ token: AccessToken?, for scope: CredentialScope, signOut: SignOutMark, now: @escaping @Sendable () -> Date,
    refresh: @escaping Refresh
  ) {
    self.init(token, scope, now, refresh, signOut)
  }

  /// Replaces the token: with a new one after a login, or with nil after a sign-out.
  ///
  /// The result of a running renewal is discarded, and the requests that wait for it continue with this token. After a
  /// sign-out, requests that began before it get no token, not even that of the next login, and cause no renewal: their
  /// callers get the 401.
  public func use(_ token: AccessToken?) {
    if token == nil { renewal.forget(failingWaiters: false) } else { replace(with: token) }
  }

  /// Replaces the token like ``use(_:)``, but nil is no sign-out: a request that finds that another process has removed
  /// the token from its store may log in.
  ///
  /// - Parameter begun: when the work began that obtained the token: after a sign-out since then, the token is ignored.
  /// - Returns: whether the token counts.
  @discardableResult @_spi(Credentials) public func replace(with token: AccessToken?, begun: Beginning? = nil) -> Bool {
    renewal.use(token.map { Received(token: $0, date: now()) }, begun: begun)
  }

  /// Removes the token because the user signs out. It acts like ``use(_:)`` with nil, but requests that wait for a
  /// renewal fail.
  @_spi(Credentials) public func forget() { renewal.forget() }

  @_spi(Credentials) public func authorizeImmediately(_ request: inout HTTPRequest, in call: Call) -> Unfinished<
    HTTPRequest
  >? {
    let date = now()
    guard let version = renewal.usable(by: call, where: { isUsable($0, at: date) }) else {
      return { [request] in try await self.authorized(request, in: call) }
    }
    call[states].used = (version.value.authorization, version.number)
    request.fields[.authorization] = version.value.authorization
    return nil
  }

  /// Returns the request with a token that may have to be renewed first.
  private func authorized(_ request: HTTPRequest, in call: Call) async throws -> HTTPRequest {
    let number = renewal.number
    if let running = renewal.running, Self.obtainsToken(request, for: running, in: call) { return request }
    let date = now()
    let outcome: Renewal<Received>.Answer
    do { outcome = try await renewal.value(where: { isUsable($0, at: date) }, by: call, renew: next) } catch {
      guard let rest = unexpired(for: call), !Task.isCancelled else { throw error }
      call.emit(.note("the access token could not be renewed, and is sent until it expires"))
      outcome = .version(rest)
    }
    let version = outcome.version
    call[states].used = version.map { ($0.value.authorization, $0.number) }
    if !outcome.isSkipped, version == nil || version?.number != number { call[states].hasRenewed = true }
    guard let authorization = version?.value.authorization else { return request }
    var request = request
    request.fields[.authorization] = authorization
    return request
  }

  /// Returns the token if it has not expired. It is renewed some time before that, and then a renewal that fails is no
  /// reason to fail the request; by then another one may be running.
  private func unexpired(for call: Call) -> RenewedValue<Received>? {
    let date = now()
    return renewal.accepted(by: call) { version in version.value.token.expires.map { $0 > date } ?? false }
  }

  /// Returns whether a token can be sent: it cannot be renewed, or need not be.
  private func isUsable(_ version: RenewedValue<Received>, at date: Date) -> Bool {
    refresh == nil || version.value.token.isFresh(at: date, received: version.value.date)
  }

  public func authenticate(after rejection: Rejection, in call: Call) async throws -> Bool {
    let state = call[states]
    guard refresh != nil, !state.hasRenewed, Self.newTokenMayHelp(after: rejection.challenges) else { return false }
    if let running = renewal.running, Self.obtainsToken(rejection.request, for: running, in: call) {
      return false
    }
    call[states].hasRenewed = true
    let isOurs = state.used?.authorization == rejection.request.fields[.authorization]
    let used = isOurs ? state.used?.number : nil
    do {
      return try await renewal.value(insteadOf: { $0.number == used }, by: call, renew: next).version != nil
    } catch {
      // The failed renewal may be the early one of a newer token, which has not expired.
      guard unexpired(for: call) != nil, !Task.isCancelled else { throw error }
      return true
    }
  }

  /// Whether the request looks like the one with which the running renewal obtains its token.
  private static func obtainsToken(
    _ request: HTTPRequest, for running: RunningWork<RenewedValue<Received>?>, in call: Call
  ) -> Bool {
    running.mayHaveBegun(call) && TokenRequestRule.obtainsToken(request.head, form: request.body.bytes)
  }

  private static func newTokenMayHelp(after challenges: [AuthenticationChallenge]) -> Bool {
    challenges.compactMap(BearerError.init).allSatisfy(\.mayBeSolvedByNewToken)
  }

  /// Returns the next token.
  @Sendable private func next(after old: Received?) async throws -> Received? {
    do { return try await refresh?(old?.token).map { Received(token: $0, date: now()) } } catch {
      throw HTTPError(credentialsFailed: "the access token could not be renewed", with: error)
    }
  }
}

@_spi(Credentials) extension TokenSource: ImmediateCredentialSource {}
