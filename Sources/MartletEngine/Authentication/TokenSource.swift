public import MartletSemantics

/// Access tokens: the current one goes with every request to its origins, and one that has expired is renewed once,
/// however many requests meet it.
///
/// ```swift
/// let tokens = TokenSource(stored, for: .origin(of: api)) { old in
///   try await login.refresh(old?.refreshToken)        // may use the very same session
/// }
/// configuration.credentials = [tokens]
/// ```
///
/// A token is renewed shortly before it expires, where that is known, and when a request is answered with 401. The renewal
/// runs in a task of its own, and every request that needs it waits for it: a thousand that meet an expired token cause one
/// renewal. A request that failed with the old token while a newer one was already there goes again with that. Requests that
/// the closure makes pass by this source, so that it may use the session that it serves.
///
/// - A token that is refused although it has just been renewed is not renewed again for the same request: the 401 is the
///   caller's. So is a 401 with `insufficient_scope` or `invalid_request` (RFC 6750 §3.1), which no renewal cures.
/// - If the closure throws, everybody who waits gets an error of kind ``HTTPError/Kind/authenticationFailed`` with that
///   error beneath; the next request tries again. An ``HTTPError`` that tells of a missing network (no connection, a time
///   limit) keeps its kind: it is no logout, the request's ``RetryPolicy`` may try again, and what the cache has for the
///   request is given where its policy and ``RequestOptions/cachePartition`` allow.
/// - If it returns nil, there is no token: requests go without, and a 401 is the caller's.
/// - Cancelling a request ends its wait, never the renewal: the refresh token may be spent already, so the new token is
///   kept for the next.
///
/// The tokens are as secret as the connection: cover https origins only, the loopback interface excepted.
public final class TokenSource: CredentialSource {
  /// Gets the next token, from the last one if there was one. Called by one task at a time.
  public typealias Refresh = @Sendable (_ old: AccessToken?) async throws -> AccessToken?

  public let scope: CredentialScope
  private let now: @Sendable () -> Date
  private let refresh: Refresh?
  private let stepAside = StepAside()
  private let renewal: Renewal<Received>
  private let progress = ExchangeLocal(Progress())

  private struct Received: Sendable {
    let token: AccessToken
    let date: Date
  }

  private struct Progress: Sendable {
    /// What the last attempt carried, and the number of its token.
    var used: (authorization: String, number: Int)?
    /// Whether a renewal was waited for already, before the request was sent or after a 401.
    var hasRenewed = false
  }

  private init(
    _ token: AccessToken?, _ scope: CredentialScope, _ now: @escaping @Sendable () -> Date, _ refresh: Refresh?
  ) {
    self.scope = scope
    self.now = now
    self.refresh = refresh
    renewal = Renewal(token.map { Received(token: $0, date: now()) }, stepAside)
  }

  /// Makes a source of one token, which stays what it is until ``use(_:)`` brings another.
  public convenience init(_ token: AccessToken?, for scope: CredentialScope) { self.init(token, scope, { .now }, nil) }

  /// Makes a source that renews its token.
  ///
  /// - Parameters:
  ///   - token: the token to begin with; without one, the first request waits for the closure.
  ///   - scope: the origins that get the token.
  ///   - now: tells the time; a test may move it.
  ///   - refresh: gets the next token.
  public convenience init(
    _ token: AccessToken? = nil, for scope: CredentialScope, now: @escaping @Sendable () -> Date = { .now },
    refresh: @escaping Refresh
  ) {
    self.init(token, scope, now, refresh)
  }

  /// Takes a token that was had elsewhere, after a login, say; nil after a logout. What a renewal under way brings does not
  /// count any more, and who waits for it goes on with this.
  public func use(_ token: AccessToken?) { renewal.use(token.map { Received(token: $0, date: now()) }) }

  public func authorize(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    guard !stepAside.isActive else { return request }
    let date = now()
    let isRenewable = refresh != nil
    let number = renewal.number
    let version = try await renewal.value(
      where: { !isRenewable || $0.value.token.isFresh(at: date, received: $0.value.date) }, renew: work)
    exchange[progress].used = version.map { ($0.value.token.authorization, $0.number) }
    if version?.number != number { exchange[progress].hasRenewed = true }
    guard let authorization = version?.value.token.authorization else { return request }
    var request = request
    request.fields[.authorization] = authorization
    return request
  }

  public func authenticate(after rejection: Rejection, in exchange: Exchange) async throws -> Bool {
    let progress = exchange[progress]
    guard !stepAside.isActive, refresh != nil, !progress.hasRenewed, Self.isCurable(rejection.challenges) else {
      return false
    }
    exchange[self.progress].hasRenewed = true
    let isOurs = progress.used?.authorization == rejection.request.fields[.authorization]
    let used = isOurs ? progress.used?.number : nil
    let version = try await renewal.value(insteadOf: { $0.number == used }, renew: work)
    return version != nil
  }

  private static func isCurable(_ challenges: [AuthenticationChallenge]) -> Bool {
    challenges.compactMap(BearerError.init).allSatisfy(\.mayBeCuredByAnotherToken)
  }

  private func work(_ old: Received?) async throws -> Received? {
    do {
      return try await refresh?(old?.token).map { Received(token: $0, date: now()) }
    } catch {
      throw HTTPError(credentialsFailed: "the access token could not be renewed", with: error)
    }
  }
}
