public import Martlet
@_spi(Credentials) import MartletSemantics

/// An ``Authenticator`` for a user account: it logs in, renews its token after a 401, and logs out.
///
/// A login is optional. After a 401 the token is renewed; without a token, a guest token is requested. If the service
/// refuses, the 401 is the response, and a user with a token is logged out without an error. A refusal is a 400, 401,
/// 403, 410 or 422, or an OAuth error such as `invalid_grant` (RFC 6749 §5.2). If the service cannot be reached, or
/// answers anything else, the token is kept and the task fails. A logout takes effect at once, whatever the service
/// responds; responses to earlier logins and renewals are discarded.
///
/// ```swift
/// let account = AccountAuthenticator(token: stored) { token in save(token) }
/// Container.shared.authenticator = .single { account }
///
/// try await account.logIn(["user": "anna", "password": password])
/// await account.logOut()
/// ```
///
/// The paths are those of ``Endpoints``. A token is read in OAuth's form (RFC 6749 §5.1: `access_token`,
/// `refresh_token`, `token_type`, `expires_in`), in camel case, too, or with the short names `access` or `token` and
/// `refresh`. It is sent with the type from the service's answer; a type with a proof for each request, such as DPoP,
/// is an error.
public actor AccountAuthenticator: Authenticator {
  /// The requests of an account.
  public struct Endpoints: Sendable {
    /// Logs in: the credentials as JSON.
    public var login = NetworkRequest(method: .POST).path("/account/login")
    /// Registers a user and logs in: the details as JSON.
    public var registration = NetworkRequest(method: .POST).path("/account/register")
    /// Renews a token: `{"refresh_token": …}`, and the old token in `Authorization`.
    public var renewal = NetworkRequest(method: .POST).path("/account/refresh-token")
    /// Requests a guest token; nil for a service without guests.
    public var guest: NetworkRequest? = NetworkRequest(method: .POST).path("/account/guest-token")
    /// Logs out: the old token in `Authorization`.
    public var logout = NetworkRequest(method: .POST).path("/account/logout")

    /// Makes the documented paths below `/account`.
    public init() {}
  }

  /// The current token; nil while no user is logged in.
  public private(set) var token: AccessToken?
  /// An anonymous identifier of the user, for example for analytics; a new one after each logout.
  public private(set) var userIdentifier = UUID()
  private let endpoints: Endpoints
  private let session: (any NetworkSession)?
  private let tokenChanged: @Sendable (AccessToken?) -> Void
  /// Counts logins and logouts: a renewal from before the last one is discarded.
  private var generation = 0
  private var loginsBegun = 0
  /// The login whose response counts; nil after a logout.
  private var expectedLogin: Int?

  /// Makes an account.
  ///
  /// - Parameters:
  ///   - token: the stored token; nil if there is none.
  ///   - endpoints: the account's requests; the documented paths by default.
  ///   - session: sends them; the container's session by default.
  ///   - tokenChanged: called with each new token, and with nil after a logout, to store it. Does nothing by default.
  public init(
    token: AccessToken? = nil, endpoints: Endpoints = Endpoints(), session: (any NetworkSession)? = nil,
    tokenChanged: @escaping @Sendable (AccessToken?) -> Void = { _ in }
  ) {
    self.token = token
    self.endpoints = endpoints
    self.session = session
    self.tokenChanged = tokenChanged
  }

  /// Logs in.
  ///
  /// - Throws: the failure of the request; `CancellationError` if another login or a logout began in the meantime.
  public func logIn(_ credentials: some Encodable & Sendable) async throws {
    try await begin(endpoints.login.body(credentials))
  }

  /// Registers a user and logs in.
  ///
  /// - Throws: as ``logIn(_:)``.
  public func register(_ details: some Encodable & Sendable) async throws {
    try await begin(endpoints.registration.body(details))
  }

  /// Logs out, and sends the logout request, whose response is ignored.
  public func logOut() async {
    let old = token
    expectedLogin = nil
    forget()
    guard let old else { return }
    _ = await endpoints.logout.header(.authorization, old.authorization).unauthenticated().task(session: session)
      .execute()
  }

  public func authorize(request: HTTPRequest) -> HTTPRequest {
    guard let token else { return request }
    var request = request
    request.fields[.authorization] = token.authorization
    return request
  }

  public func authenticate() async throws {
    let before = generation
    let hadToken = token != nil
    guard let renewal = renewal() else { throw NetworkError.unauthenticated }
    let response = await ask(renewal)
    guard generation == before else {
      if token == nil { throw NetworkError.unauthenticated }
      return
    }
    let failure = response.renewalFailure
    if failure == .refused, hadToken { forget() }
    // A service may have no guests, which ends no login.
    let isWithoutGuests = !hadToken && failure == .unusable && response.response?.status.isClientError == true
    if failure == .refused || isWithoutGuests { throw NetworkError.unauthenticated }
    var renewed = try response.value.token
    renewed.refreshToken = renewed.refreshToken ?? token?.refreshToken
    take(renewed)
  }

  private func renewal() -> NetworkRequest? {
    guard let token else { return endpoints.guest }
    let renewal = endpoints.renewal.header(.authorization, token.authorization)
    return token.refreshToken.map { renewal.body(["refresh_token": $0]) } ?? renewal
  }

  private func begin(_ request: NetworkRequest) async throws {
    loginsBegun += 1
    let number = loginsBegun
    expectedLogin = number
    let new = try await ask(request).value.token
    guard expectedLogin == number else { throw CancellationError() }
    expectedLogin = nil
    generation += 1
    take(new)
  }

  private func ask(_ request: NetworkRequest) async -> NetworkResponse<AccountToken> {
    await request.unauthenticated().task(session: session).execute()
  }

  private func take(_ new: AccessToken) {
    token = new
    tokenChanged(new)
  }

  private func forget() {
    generation += 1
    token = nil
    userIdentifier = UUID()
    tokenChanged(nil)
  }
}

extension NetworkResponse {
  /// What the failure of a renewal says about the login; nil if there is a value.
  fileprivate var renewalFailure: RenewalFailure? {
    guard error != nil else { return nil }
    let hasFailedOnTheWay = (error as? HTTPError).map { $0.kind != .unexpectedResponse } ?? false
    guard let status = response?.status, !hasFailedOnTheWay else { return .temporary }
    return RenewalFailure(status, code: TokenRefusal(status, data)?.code)
  }
}

/// The token in a response, under any of the usual member names.
private struct AccountToken: Decodable, Sendable {
  let token: AccessToken

  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Name.self)
    func first<Value: Decodable>(_ names: String...) throws -> Value? {
      for name in names {
        if let value = try members.decodeIfPresent(Value.self, forKey: Name(name)) { return value }
      }
      return nil
    }
    guard let value: String = try first("access_token", "accessToken", "access", "token") else {
      throw DecodingError.keyNotFound(
        Name("access_token"),
        .init(codingPath: decoder.codingPath, debugDescription: "the response has no access_token"))
    }
    let lifetime: TokenLifetime? = try first("expires_in", "expiresIn")
    let type: String = try first("token_type", "tokenType") ?? "Bearer"
    guard TokenAnswer.isToken(value) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "the token is empty or has a character that is not allowed"))
    }
    guard !TokenAnswer.needsProof(type) else {
      throw DecodingError.dataCorrupted(
        .init(
          codingPath: decoder.codingPath,
          debugDescription: "the token has the type '\(type)', which needs a proof with each request"))
    }
    token = AccessToken(
      value, type: type,
      expires: lifetime?.seconds.map { Date(timeIntervalSinceNow: $0) },
      refreshToken: try first("refresh_token", "refreshToken", "refresh"))
  }
}
