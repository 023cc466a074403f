@_spi(Toolkit) public import MartletEngine
@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics

/// The way in which an ``OAuthClient`` obtains a token: for itself, or for a user who logs in.
public struct OAuthLogin: Sendable {
  let obtain: @Sendable (OAuthClient) async throws -> AccessToken

  /// Makes a login of another kind.
  ///
  /// - Parameter obtain: returns a token for the client. An error other than ``Martlet/HTTPError`` becomes its
  ///   `underlying`.
  public init(_ obtain: @escaping @Sendable (OAuthClient) async throws -> AccessToken) { self.obtain = obtain }

  /// The client's own credentials (RFC 6749 §4.4): there is no user.
  ///
  /// - Parameter scopes: the requested scopes; empty, the default, lets the server choose.
  public static func clientCredentials(scopes: Set<String> = []) -> OAuthLogin {
    OAuthLogin { try await $0.token(for: .clientCredentials(scopes: scopes)) }
  }
}

// MARK: - On another device

/// The data that a user needs to log in on another device (RFC 8628 §3.3).
public struct DeviceCode: Sendable, Hashable {
  /// The code that the user enters.
  public let userCode: String
  /// The page where the code is entered; short, to be shown as text.
  public let page: URL
  /// The page that already contains the code, for example for a QR code; nil if there is none.
  public let completePage: URL?
  /// How long the code can be used.
  public let lifetime: Duration
}

extension OAuthLogin {
  /// A login on another device (device authorization grant, RFC 8628), for programs without a browser: the user gets a
  /// code and enters it on a page of the server.
  ///
  /// ```swift
  /// let login = OAuthLogin.device(authorize) { print("Open \($0.page) and enter \($0.userCode).") }
  /// ```
  ///
  /// The server is polled at its interval until the user has logged in. The interval becomes longer after `slow_down`,
  /// and doubles after a lost connection and after a temporary failure such as a 429 or 503. If the user refuses or
  /// does nothing, the error has an ``OAuthError`` with `access_denied` or `expired_token`.
  ///
  /// - Parameters:
  ///   - endpoint: the device authorization endpoint.
  ///   - scopes: the requested scopes; empty, the default, lets the server choose.
  ///   - show: shows the code, then returns without waiting for the login.
  public static func device(
    _ endpoint: URL, scopes: Set<String> = [], show: @escaping @Sendable (DeviceCode) async throws -> Void
  ) -> OAuthLogin {
    OAuthLogin { client in
      let data = try await client.post(TokenGrant.pair(of: scopes), to: endpoint, naming: client.id)
      guard let answer = try? JSONDecoder().decode(DeviceAuthorizationAnswer.self, from: data) else {
        throw client.malformed("a device_code", at: endpoint)
      }
      let lifetime = Duration.seconds(min(max(answer.seconds, 0), 86_400))
      let stopwatch = Stopwatch(client.session.configuration.clock)
      try await show(
        DeviceCode(
          userCode: answer.userCode, page: answer.page, completePage: answer.completePage, lifetime: lifetime))
      return try await token(for: answer, of: client, within: lifetime, stopwatch)
    }
  }

  private static func token(
    for answer: DeviceAuthorizationAnswer, of client: OAuthClient, within lifetime: Duration, _ stopwatch: Stopwatch
  ) async throws -> AccessToken {
    var polling = DevicePolling(seconds: answer.interval)
    while stopwatch.elapsed + polling.interval <= lifetime {
      try await client.session.configuration.clock.sleep(for: polling.interval)
      do throws(HTTPError) {
        return try await client.token(for: .deviceCode(answer.deviceCode))
      } catch {
        let code = (error.underlying as? OAuthError)?.code
        if let code, polling.continues(after: TokenRefusal(code: code)) { continue }
        guard error.renewalFailure == .temporary else { throw error }
        polling.backOff(atLeast: error.response.flatMap { RetryAfter.delay(in: $0.fields, now: client.now()) })
      }
    }
    throw HTTPError(OAuthError(TokenRefusal(code: "expired_token", description: "the login took too long")))
  }
}

extension OAuthClient {
  /// Sends a form that names the client even if it authenticates itself otherwise (RFC 8628 §3.1).
  fileprivate func post(
    _ pairs: [(name: String, value: String)], to endpoint: URL, naming id: String
  ) async throws(HTTPError) -> Data {
    guard case .basic = authentication else { return try await post(pairs, to: endpoint) }
    return try await post([(name: "client_id", value: id)] + pairs, to: endpoint)
  }
}

// MARK: - In a browser

extension OAuthLogin {
  /// The options of a login in a browser, for servers that require more than its endpoint.
  ///
  /// ```swift
  /// var options = OAuthLogin.BrowserOptions()
  /// options.redirect = "http://localhost:8400/oauth/callback"       // exactly as registered
  /// options.parameters = [(name: "audience", value: "https://api.example.com"), (name: "prompt", value: "consent")]
  /// ```
  public struct BrowserOptions: Sendable {
    /// The requested scopes; empty, the default, lets the server choose.
    public var scopes: Set<String> = []
    /// The server's issuer identifier, such as `https://login.example.com`, which an `iss` must equal. With nil, the
    /// default, an `iss` must have the origin of the authorization endpoint or the token endpoint.
    public var issuer: String?
    /// The URL of the redirect, which is sent as it is: an http URL of the loopback interface, with the host
    /// `localhost`, `127.0.0.1` or `[::1]`. `http://127.0.0.1/callback` by default.
    ///
    /// Without a port, the system chooses one and it is added: servers ignore it (RFC 8252 §7.3). Servers that compare
    /// the whole URL, such as Auth0, Amazon Cognito, XSUAA and Salesforce, need a port here. If another program uses
    /// it, the login fails. For `localhost`, the port is open on 127.0.0.1 and, if the machine has IPv6, on ::1.
    public var redirect = "http://127.0.0.1/callback"
    /// Parameters that the server requires in addition, such as `audience`, `resource` or `prompt`, in their order;
    /// none by default. For parameters of token requests, see ``OAuthClient/parameters``.
    ///
    /// A name that the request already has is an error of kind `.invalidRequest` (RFC 6749 §3.1).
    public var parameters: [(name: String, value: String)] = []
    /// The pushed authorization request endpoint (RFC 9126); nil, the default, if the browser brings the request
    /// itself. With it, the client sends the request to the server first, and the page's URL has only a reference to
    /// it: the parameters are neither in the browser's history nor limited in length, and nobody can change them.
    public var pushEndpoint: URL?
    /// How long the user has to log in; 5 minutes by default.
    public var timeLimit = Duration.seconds(300)

    /// Makes the default options.
    public init() {}
  }

  /// A login in the user's browser on this machine: the authorization code grant (RFC 6749 §4.1) with a proof key (RFC
  /// 7636), and a redirect to the loopback interface (RFC 8252 §7.3).
  ///
  /// ```swift
  /// let login = OAuthLogin.browser(authorize) { page in
  ///   try Process.run(URL(filePath: "/usr/bin/xdg-open"), arguments: [page.absoluteString])
  /// }
  /// ```
  ///
  /// The redirect is `http://127.0.0.1:PORT/callback` with a port chosen by the system: register it without a port. For
  /// servers that require another one or further parameters, see ``browser(_:options:open:)``. A redirect counts only
  /// if it has the state of this login; the browser then shows a short page, and the port is closed. The port is also
  /// closed when the task is cancelled, and after the time limit, with an error of kind
  /// `.deadlineExceeded`.
  ///
  /// If the redirect names a different server (`iss`, RFC 9207), the login fails with an error of kind
  /// `.authenticationFailed`, and the code is not sent.
  ///
  /// - Parameters:
  ///   - endpoint: the authorization endpoint.
  ///   - scopes: the requested scopes; empty, the default, lets the server choose.
  ///   - issuer: the server's issuer identifier, such as `https://login.example.com`, which an `iss` must equal. With
  ///     nil, the default, an `iss` must have the origin of the authorization endpoint or the token endpoint.
  ///   - limit: how long the user has to log in; 5 minutes by default.
  ///   - open: shows the server's page, then returns.
  public static func browser(
    _ endpoint: URL, scopes: Set<String> = [], issuer: String? = nil, within limit: Duration = .seconds(300),
    open: @escaping @Sendable (URL) async throws -> Void
  ) -> OAuthLogin {
    var options = BrowserOptions()
    (options.scopes, options.issuer, options.timeLimit) = (scopes, issuer, limit)
    return browser(endpoint, options: options, open: open)
  }

  /// A login in the user's browser on this machine, like ``browser(_:scopes:issuer:within:open:)``, with more options.
  ///
  /// - Parameters:
  ///   - endpoint: the authorization endpoint.
  ///   - options: the redirect, the parameters and more.
  ///   - open: shows the server's page, then returns.
  public static func browser(
    _ endpoint: URL, options: BrowserOptions, open: @escaping @Sendable (URL) async throws -> Void
  ) -> OAuthLogin {
    OAuthLogin { client in
      try TokenExchange.check(endpoint)
      let redirect = try LoopbackRedirect(options.redirect)
      defer { redirect.stop() }
      let key = ProofKey(verifier: .unguessable)
      var request = AuthorizationCodeRequest(
        endpoint: endpoint, clientID: client.id, redirect: redirect.url, scopes: options.scopes,
        state: .unguessable)
      guard let key, let challenge = key.challenge(.s256) else {
        throw HTTPError(.authenticationFailed, "SHA-256 is not available for the proof key", phase: .preparing)
      }
      request.challenge = (challenge, .s256)
      request.issuer = options.issuer
      let binding = client.binding?.authorizationParameters ?? []
      try options.parameters.checkNames(besides: request.pairs + binding)
      request.parameters = binding + options.parameters
      request.otherEndpoints = [client.tokenEndpoint]
      let page = try await client.page(for: request, pushedTo: options.pushEndpoint)
      redirect.receive(request)
      try await open(page)
      let code = try await redirect.code(within: options.timeLimit, on: client.session.configuration.clock)
      return try await client.token(
        for: .authorizationCode(code, redirect: redirect.url, verifier: key.verifier))
    }
  }
}

extension OAuthClient {
  /// Returns the URL of the page where the user logs in.
  ///
  /// - Parameter pushEndpoint: the endpoint that gets the request before (RFC 9126 §2); nil for none.
  fileprivate func page(
    for request: AuthorizationCodeRequest, pushedTo pushEndpoint: URL?
  ) async throws(HTTPError) -> URL {
    var page = request.url
    if let pushEndpoint {
      let data = try await post(request.pairs + request.parameters, to: pushEndpoint, adding: [])
      let answer = try? JSONDecoder().decode(PushedRequestAnswer.self, from: data)
      guard let answer, !answer.reference.isEmpty else { throw malformed("a request_uri", at: pushEndpoint) }
      page = request.url(of: [(name: "client_id", value: id), (name: "request_uri", value: answer.reference)])
    }
    guard let page else {
      throw HTTPError(
        .invalidRequest, "the authorization endpoint '\(request.endpoint.redacted)' cannot have a query",
        phase: .preparing)
    }
    return page
  }
}

/// The response of a pushed authorization request endpoint (RFC 9126 §2.2). The lifetime of the reference is that of
/// the server: the page is opened at once.
private struct PushedRequestAnswer: Decodable {
  let reference: String

  private enum CodingKeys: String, CodingKey { case reference = "request_uri" }
}

extension String {
  /// 256 bits of the system's cryptographic random number generator, in 43 characters of base64url: enough for a state
  /// (RFC 6749 §10.10) and a proof key (RFC 7636 §4.1).
  @_spi(Credentials) public static var unguessable: String {
    Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64URL
  }
}
