@_spi(Credentials) @_spi(Toolkit) public import MartletEngine
@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics

/// A client of an OAuth 2 authorization server (RFC 6749): obtains access tokens, and renews them.
///
/// ```swift
/// let client = OAuthClient(
///   id: "reports", tokenEndpoint: tokens, authentication: .basic(secret: secret),
///   session: HTTPSession(transport: transport))
/// configuration.credentials = [
///   client.tokens(for: .origin(of: api), by: .clientCredentials(scopes: ["read"]))
/// ]
/// ```
///
/// An ``OAuthLogin`` determines how the first token is obtained: with the client's own credentials, on another device,
/// or in a browser. The client's session sends the token requests, only over https or to the loopback interface, and
/// does not follow their redirects. It must not be the session that needs the tokens.
///
/// Its methods throw ``Martlet/HTTPError``, except ``tokens(for:by:keptIn:as:)``, which throws the error of its store.
/// If the server refuses or fails, the kind is `.authenticationFailed`, and ``Martlet/HTTPError/underlying`` is the
/// server's ``OAuthError``, if it sent one. After a temporary failure, such as a 503, no login has ended, and
/// ``Martlet/HTTPError/isTransient`` is true. A token type other than `Bearer` is an error of that kind too (RFC 6749
/// §7.1): one of the type DPoP needs a ``binding``. No message or description of an error shows a token or a secret.
public struct OAuthClient: Sendable {
  /// How the client authenticates itself (RFC 6749 §2.3.1).
  @nonexhaustive public enum Authentication: Sendable, Hashable {
    /// By its identifier only: a public client, such as an app on a user's device.
    case none
    /// With a password in `Authorization`, which every server supports.
    case basic(secret: String)
    /// With a password in the form, for servers that support only this.
    case form(secret: String)
    /// With a signed statement, which is made for each request (RFC 7521 §4.2). The product `MartletSignatures` makes
    /// one from a key: `privateKeyJWT(_:audience:lifetime:)`.
    case assertion(ClientAssertion)
    /// With the client certificate of the TLS connection, and its identifier: `tls_client_auth` and
    /// `self_signed_tls_client_auth` (RFC 8705 §2).
    ///
    /// The certificate is that of the client's session: ``Martlet/TLSSettings/clientCertificate``, or
    /// ``Martlet/TLSSettings/originSettings`` for one that depends on the origin. If the server binds its tokens to the
    /// certificate (§3), the session that sends the tokens needs the same one. A server may have other endpoints for
    /// such connections: ``OAuthServer/forCertificates``.
    case certificate
  }

  /// The identifier of the client (`client_id`).
  public let id: String
  /// The URL of the token endpoint.
  public let tokenEndpoint: URL
  /// How the client authenticates itself.
  public let authentication: Authentication
  /// Parameters that the server requires in addition, such as `audience` (Auth0) or `resource` (RFC 8707). They are
  /// sent with every request of a token or of a device's code; none by default. For parameters of the login page, see
  /// ``OAuthLogin/BrowserOptions/parameters``.
  ///
  /// A name that the request already has is an error of kind `.invalidRequest` (RFC 6749 §3.2).
  public var parameters: [(name: String, value: String)] = []
  /// Binds tokens to a key, so that a stolen one is useless without it (DPoP, RFC 9449): `DPoP` of the product
  /// `MartletSignatures`. nil, the default, for tokens that are not bound.
  ///
  /// Put the same object into ``Martlet/SessionConfiguration/finalInterceptors`` of the session that sends the tokens.
  public var binding: (any TokenBinding)?
  let session: HTTPSession
  let now: @Sendable () -> Date

  /// Makes a client.
  ///
  /// - Parameters:
  ///   - id: the identifier of the client (`client_id`).
  ///   - tokenEndpoint: the URL of the token endpoint.
  ///   - authentication: how the client authenticates itself; only by its identifier by default.
  ///   - session: sends the requests to the authorization server.
  ///   - now: the current time, for tests, which decides when a token has expired; the system's clock by default.
  public init(
    id: String, tokenEndpoint: URL, authentication: Authentication = .none, session: HTTPSession,
    now: @escaping @Sendable () -> Date = { .now }
  ) {
    self.id = id
    self.tokenEndpoint = tokenEndpoint
    self.authentication = authentication
    self.session = session
    self.now = now
  }

  /// Obtains a token. Runs off the caller's actor.
  @concurrent public func token(by login: OAuthLogin) async throws(HTTPError) -> AccessToken {
    do { return try await login.obtain(self) } catch { throw HTTPError(wrapping: error) }
  }

  /// Renews a token with its refresh token (RFC 6749 §6). If the server sends no new refresh token, the old one is kept
  /// in the result. Runs off the caller's actor.
  ///
  /// - Throws: ``Martlet/HTTPError``, of kind `.authenticationFailed` if the token has no refresh token or the server
  ///   refuses it.
  @concurrent public func renewed(_ token: AccessToken) async throws(HTTPError) -> AccessToken {
    guard let refreshToken = token.refreshToken else {
      throw HTTPError(
        .authenticationFailed, "the access token has no refresh token: log in again", phase: .preparing)
    }
    var new = try await self.token(for: .refreshToken(refreshToken))
    new.refreshToken = new.refreshToken ?? refreshToken
    return new
  }

  /// Returns a source of tokens for requests. The first token comes from a login. Each token is renewed with its
  /// refresh token; if the server refuses that, the next token comes from a login again. If the server cannot be
  /// reached or fails (429, 5xx), requests that need the new token fail, and the refresh token is kept for later ones.
  ///
  /// - Parameters:
  ///   - scope: the origins to which tokens may be sent.
  ///   - login: obtains a token.
  public func tokens(for scope: CredentialScope, by login: OAuthLogin) -> TokenSource {
    TokenSource(for: scope, now: now) { try await next(after: $0, by: login) }
  }

  /// Returns a source of tokens like ``tokens(for:by:)`` that keeps them between runs of the program: the first token
  /// comes from the store. Runs off the caller's actor.
  ///
  /// ```swift
  /// configuration.credentials = [
  ///   try await client.tokens(for: .origin(of: api), by: .clientCredentials(), keptIn: store)
  /// ]
  /// ```
  ///
  /// Every new token replaces the one in the store, including a new refresh token. If another process with the same
  /// store has replaced it in the meantime, that token is used. If the store cannot be written, no request fails,
  /// because the token is valid.
  ///
  /// A token that is bound to another key than that of the ``binding``, because the key was lost, is not sent. Its
  /// refresh token is used only if the client authenticates itself: that of a public client is bound, too (RFC 9449
  /// §5). Otherwise there is a new login.
  ///
  /// To log out, call ``Martlet/TokenSource/use(_:)`` with nil, then remove the key from the store. After the call, the
  /// source neither reads the old token nor keeps the result of a running renewal.
  ///
  /// - Parameters:
  ///   - scope: the origins to which tokens may be sent.
  ///   - login: obtains a token.
  ///   - store: the store of the tokens, which other users must not be able to read. A value under the key that is not
  ///     a token is replaced.
  ///   - key: the key of the token in the store.
  /// - Throws: the error of a store that cannot be read. A later error of this kind fails the requests that need a new
  ///   token.
  @concurrent public func tokens(
    for scope: CredentialScope, by login: OAuthLogin, keptIn store: any KeyValueStore, as key: String = "oauth-token"
  ) async throws -> TokenSource {
    let stored = StoredToken(in: store, as: key, of: self)
    let signOut = SignOutMark()
    let now = now
    return TokenSource(try await stored.take(), for: scope, signOut: signOut, now: now) { old in
      let begun = Beginning.ofSharedWork
      // After a sign-out there is no old token.
      let last = old == nil && signOut.last > 0 ? nil : try await stored.replacement()
      if let last, last.replaces(old, at: now()) { return stored.took(last) }
      // Separate from the call: Swift 6.3.1 crashes on an inline closure here.
      let other: @Sendable () async throws -> AccessToken? = {
        // Another process may have used the refresh token at the same moment.
        try await stored.replacement().flatMap { $0.replaces(last ?? old, at: now()) ? $0 : nil }
      }
      let token = try await next(after: last ?? old, by: login, or: other)
      guard !signOut.isAfter(begun) else { return token }
      await stored.replace(with: token)
      if signOut.isAfter(begun) { await stored.remove() }
      return token
    }
  }

  /// Renews the token, or logs in if it cannot be renewed.
  ///
  /// - Parameter other: returns another token to use in place of a login; nil if there is none.
  private func next(
    after token: AccessToken?, by login: OAuthLogin, or other: @Sendable () async throws -> AccessToken? = { nil }
  ) async throws -> AccessToken {
    guard let token, token.refreshToken != nil else { return try await self.token(by: login) }
    do { return try await renewed(token) } catch {
      guard error.renewalFailure == .refused else { throw error }
    }
    if let other = try await other() { return other }
    return try await self.token(by: login)
  }
}

extension AccessToken {
  /// Whether this token differs from the old one and can be sent. Stored dates are not exact and do not count.
  fileprivate func replaces(_ old: AccessToken?, at now: Date) -> Bool {
    value != old?.value && isFresh(at: now, received: now)
  }
}

extension OAuthClient {
  /// Redeems a grant at the token endpoint (RFC 6749 §3.2).
  func token(for grant: TokenGrant) async throws(HTTPError) -> AccessToken {
    let data = try await post(grant.pairs, to: tokenEndpoint)
    guard let answer = try? JSONDecoder().decode(TokenAnswer.self, from: data) else {
      throw malformed("an access_token", at: tokenEndpoint)
    }
    let token = AccessToken(answer, at: now())
    if let objection = objection(to: token, unbound: answer.objection) {
      throw HTTPError(.authenticationFailed, "\(tokenEndpoint.redacted): \(objection)", phase: .receiving)
    }
    return token
  }

  /// The reason why the token cannot be used; nil if it can. A token that should be bound and is not must be discarded
  /// if its protection matters (RFC 9449 §5).
  ///
  /// - Parameter objection: the reason if the client has no binding.
  private func objection(to token: AccessToken, unbound objection: String?) -> String? {
    let type = token.type.lowercased()
    guard let binding else {
      return objection.map { $0 + (type == "dpop" ? ": set OAuthClient.binding (RFC 9449)" : "") }
    }
    if type == binding.tokenType.lowercased() { return nil }
    guard objection == nil, binding.isRequired else { return objection }
    return "the token has the type '\(token.type.printable(upTo: 100))' in place of \(binding.tokenType), so it is not "
      + "bound to the key (RFC 9449 §5): the server may not support that"
  }

  /// The error of a response that lacks required members. Its body may contain secrets, and is omitted.
  func malformed(_ what: String, at endpoint: URL) -> HTTPError {
    HTTPError(
      .authenticationFailed, "the response of \(endpoint.redacted) is not JSON with \(what): check the URL",
      phase: .receiving)
  }

  /// Sends a form to the authorization server, and returns the body of a successful response.
  ///
  /// - Parameter additional: parameters that the caller of the API has added; ``parameters`` by default.
  func post(
    _ pairs: [(name: String, value: String)], to endpoint: URL,
    adding additional: [(name: String, value: String)]? = nil
  ) async throws(HTTPError) -> Data {
    var isRepeated = false
    while true {
      let proofs = binding.map(ProofInterceptor.init)
      let exchange = try TokenExchange(
        await request(pairs, to: endpoint, adding: additional ?? parameters), provedBy: proofs)
      let (data, response) = try await session.data(for: exchange.request)
      let answer = exchange.answer(response.status, data, hiding: proofs?.sent ?? [])
      let mayRepeat = binding?.review(response.head, of: endpoint, refusal: answer.refusal) ?? false
      if case .failed = answer, mayRepeat, !isRepeated {
        isRepeated = true  // With a new assertion: the server may accept each one only once.
        continue
      }
      switch answer {
      case .body(let body): return body
      case .failed(_, let refusal?): throw HTTPError(refusal).addingContext(of: response)
      case .failed(_, nil):
        throw HTTPError(
          .authenticationFailed, "the authorization server answered \(response.head.statusText)", phase: .waiting
        ).addingContext(of: response)
      }
    }
  }

  private func request(
    _ pairs: [(name: String, value: String)], to endpoint: URL, adding additional: [(name: String, value: String)]
  ) async throws(HTTPError) -> HTTPRequest {
    var pairs = pairs
    var request = HTTPRequest(.post, endpoint, fields: [.accept: MediaType.json.description])
    if case .basic(let secret) = authentication {
      do {
        request.fields[.authorization] = try TokenGrant.basic(clientID: id, secret: secret)
      } catch {
        throw HTTPError(credentialsFailed: "the client cannot be authenticated", with: error)
      }
    } else if !pairs.contains(where: { $0.name == "client_id" }) {
      pairs.append((name: "client_id", value: id))
    }
    switch authentication {
    case .none, .certificate, .basic: break
    case .form(let secret): pairs.append((name: "client_secret", value: secret))
    case .assertion(let assertion): pairs += try await assertion.pairs(for: id, at: endpoint)
    }
    try additional.checkNames(besides: pairs)
    request.body = .form(pairs + additional)
    return request
  }
}

extension [(name: String, value: String)] {
  /// Checks that none of these parameters has the name of another one of the request, which must not be sent twice (RFC
  /// 6749 §3.1, §3.2).
  func checkNames(besides own: [(name: String, value: String)]) throws(HTTPError) {
    guard let twice = first(where: { added in own.contains { $0.name == added.name } }) else { return }
    throw HTTPError(
      .invalidRequest,
      "the OAuth request has the parameter '\(twice.name)' already: remove it from the additional ones",
      phase: .preparing)
  }
}

extension OAuthClient: CustomStringConvertible, CustomReflectable {
  /// The identifier and the token endpoint.
  public var description: String { "the OAuth 2 client '\(id)' of \(tokenEndpoint.redacted)" }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["client": description]) }
}

extension OAuthClient.Authentication: CustomStringConvertible, CustomReflectable {
  /// The method, without the secret.
  public var description: String {
    switch self {
    case .none: "none"
    case .basic: "basic"
    case .form: "form"
    case .assertion: "assertion"
    case .certificate: "certificate"
    }
  }

  /// The description alone.
  public var customMirror: Mirror { Mirror(self, children: ["authentication": description]) }
}

/// A refusal of an authorization server (RFC 6749 §4.1.2.1 and §5.2, RFC 8628 §3.5).
public struct OAuthError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The error code, such as `invalid_grant`, `access_denied` or `expired_token`.
  public let code: String
  /// The server's explanation, for developers; nil if there is none. Secrets of the request are omitted.
  public let detail: String?
  /// A page about the error; nil if there is none. Secrets of the request are omitted.
  public let page: URL?

  /// The code, and the server's explanation.
  public var description: String { code + (detail.map { " (\($0))" } ?? "") }

  /// - Parameter secrets: the sent secrets, which must not be in the error.
  @_spi(Credentials) public init(_ refusal: TokenRefusal, hiding secrets: [String] = []) {
    func shown(_ text: String) -> String {
      secrets.reduce(text) { $0.replacing($1, with: "***") }.printable(upTo: 300)
    }
    code = refusal.code.printable(upTo: 300)
    detail = refusal.description.map(shown)
    page = refusal.uri.flatMap { URL(text: shown($0)) }
  }
}

extension HTTPError {
  /// What the failure of a token request says about the user's login.
  @_spi(Credentials) public var renewalFailure: RenewalFailure {
    if isTransient { return .temporary }
    guard let response else { return .unusable }
    return RenewalFailure(response.status, code: (underlying as? OAuthError)?.code)
  }

  init(_ refusal: OAuthError) {
    self.init(
      .authenticationFailed, "the authorization server refused the request: \(refusal)", phase: .waiting,
      underlying: refusal)
  }
  /// The error of a redirect from another authorization server.
  init(otherIssuer issuer: String) {
    self.init(
      .authenticationFailed,
      "the redirect has the issuer (iss) '\(issuer)', which is not that of the authorization server (RFC 9207): if it is, "
        + "pass it to OAuthLogin.browser",
      phase: .waiting)
  }
}
