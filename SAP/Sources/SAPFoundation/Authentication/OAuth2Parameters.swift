@_spi(Credentials) @_spi(Toolkit) import MartletSemantics
@_spi(Credentials) import MartletSignIn

/// The parameters of a user's login with OAuth 2.0: the authorization code grant (RFC 6749 §4.1), with the proof key of
/// RFC 7636.
///
/// ```swift
/// let parameters = OAuth2AuthenticationParameters(
///   authorizationEndpointURL: authorize, clientID: "8f3c…", redirectURL: redirect, tokenEndpointURL: tokens)
/// ```
public struct OAuth2AuthenticationParameters: Sendable, Hashable {
  /// How the code challenge is computed from the proof key (RFC 7636 §4.2).
  public enum CodeChallengeMethod: Sendable, Hashable {
    /// As its hash: `S256`.
    case s256
    /// Unchanged: `plain`, for servers that do not support `S256`.
    case plain
  }

  /// The login page. The parameters of the request are added to its query.
  public let authorizationEndpointURL: URL
  /// The endpoint that exchanges the code for a token.
  public let tokenEndpointURL: URL
  /// The URL to which the login page redirects, with the code in its query. This module never loads it.
  public let redirectURL: URL
  /// The client's identifier.
  public let clientID: String
  /// The client's secret; nil for a public client, such as an installed app.
  public let clientSecret: String?
  /// The requested scopes; if empty, the server chooses.
  public let requestingScopes: Set<String>
  /// The login page of XSUAA, which is shown instead of ``authorizationEndpointURL`` and saves a redirect; nil for
  /// none.
  public let xsuaaAuthorizationURL: URL?
  /// How the code challenge is computed; nil sends none.
  public let codeChallengeMethod: CodeChallengeMethod?
  /// The server's issuer identifier. An `iss` in the redirect must be equal to it (RFC 9207). With nil, the default, an
  /// `iss` must have the origin of one of the endpoints. (Not in SAP's type.)
  public var issuer: String?

  /// Makes parameters. SAP sends a proof key only with `xsuaaAuthorizationURL`; this module always does, unless
  /// `codeChallengeMethod` is nil (RFC 9700 §2.1.1).
  ///
  /// - Parameters:
  ///   - authorizationEndpointURL: the login page.
  ///   - clientID: the client's identifier.
  ///   - redirectURL: the URL to which the login page redirects.
  ///   - tokenEndpointURL: the endpoint that exchanges the code for a token.
  ///   - clientSecret: the client's secret; none by default.
  ///   - requestingScopes: the requested scopes; none by default.
  ///   - xsuaaAuthorizationURL: the login page of XSUAA; none by default.
  ///   - codeChallengeMethod: how the code challenge is computed; `S256` by default.
  public init(
    authorizationEndpointURL: URL, clientID: String, redirectURL: URL, tokenEndpointURL: URL,
    clientSecret: String? = nil, requestingScopes: Set<String> = [], xsuaaAuthorizationURL: URL? = nil,
    codeChallengeMethod: CodeChallengeMethod? = .s256
  ) {
    self.authorizationEndpointURL = authorizationEndpointURL
    self.tokenEndpointURL = tokenEndpointURL
    self.redirectURL = redirectURL
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.requestingScopes = requestingScopes
    self.xsuaaAuthorizationURL = xsuaaAuthorizationURL
    self.codeChallengeMethod = codeChallengeMethod
  }
}

/// The parameters of a token for the client itself: the client credentials grant (RFC 6749 §4.4).
///
/// ```swift
/// let parameters = try OAuth2ClientCredentialsAuthenticationParameters(
///   tokenEndpointURL: tokens, clientID: "reports", clientSecret: secret)
/// ```
public struct OAuth2ClientCredentialsAuthenticationParameters: Sendable {
  /// How the client authenticates (RFC 6749 §2.3.1). The names come from OpenID Connect.
  public enum ClientAuthentication: Sendable, Hashable {
    /// `client_secret_basic`: in `Authorization`, which every server has to support.
    case basic
    /// `client_secret_post`: in the form, for servers that do not read `Authorization`.
    case post
  }

  /// The token endpoint.
  public let tokenEndpointURL: URL
  /// The requested scopes; if empty, the server chooses.
  public let requestingScopes: Set<String>
  /// Adds the client's authentication to the token request, whose body is a form.
  public let clientCredentialsHandler: @Sendable (URLRequest) throws -> URLRequest

  /// Makes parameters for a client that authenticates in its own way.
  ///
  /// - Parameters:
  ///   - tokenEndpointURL: the token endpoint.
  ///   - requestingScopes: the requested scopes; none by default.
  ///   - clientCredentialsHandler: called before each token request; the authentication fails with the error that it
  ///     throws.
  public init(
    tokenEndpointURL: URL, requestingScopes: Set<String> = [],
    clientCredentialsHandler: @escaping @Sendable (URLRequest) throws -> URLRequest
  ) {
    self.tokenEndpointURL = tokenEndpointURL
    self.requestingScopes = requestingScopes
    self.clientCredentialsHandler = clientCredentialsHandler
  }

  /// Makes parameters for a client with an identifier and a secret.
  ///
  /// - Parameters:
  ///   - tokenEndpointURL: the token endpoint.
  ///   - clientID: the client's identifier.
  ///   - clientSecret: the client's secret.
  ///   - requestingScopes: the requested scopes; none by default.
  ///   - clientAuthentication: how the client authenticates; in `Authorization` by default. (SAP's supports Basic
  ///     only.)
  /// - Throws: ``OAuth2Error/invalidArgument(detail:)`` if the identifier or the secret is empty.
  public init(
    tokenEndpointURL: URL, clientID: String, clientSecret: String, requestingScopes: Set<String> = [],
    clientAuthentication: ClientAuthentication = .basic
  ) throws {
    guard !clientID.isEmpty, !clientSecret.isEmpty else {
      throw OAuth2Error.invalidArgument(detail: "clientID and clientSecret must not be empty")
    }
    self.init(tokenEndpointURL: tokenEndpointURL, requestingScopes: requestingScopes) { request in
      var request = request
      switch clientAuthentication {
      case .basic: request.setBasic(clientID, clientSecret)
      case .post:
        request.addToForm([(name: "client_id", value: clientID), (name: "client_secret", value: clientSecret)])
      }
      return request
    }
  }
}

extension URLRequest {
  /// Sets `Authorization` for a client (RFC 6749 §2.3.1). Both identifier and secret are form-encoded first, so that
  /// Basic can carry any of them.
  mutating func setBasic(_ clientID: String, _ secret: String) {
    let value = try? TokenGrant.basic(clientID: clientID, secret: secret)
    setValue(value, forHTTPHeaderField: SAPURLSession.HTTPHeader.authorization)
  }

  /// Adds pairs to a form in the body.
  mutating func addToForm(_ pairs: [(name: String, value: String)]) {
    let form = [httpBody.map { String(decoding: $0, as: UTF8.self) } ?? "", PercentEncoding.form.encode(pairs)]
    httpBody = Data(form.filter { !$0.isEmpty }.joined(separator: "&").utf8)
  }
}

extension OAuth2AuthenticationParameters: CustomStringConvertible, CustomReflectable {
  /// The client's identifier.
  public var description: String { "OAuth 2 for the client \(clientID)" }

  /// A mirror without the secret, and without user information and queries of the URLs.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "authorizationEndpointURL": authorizationEndpointURL.redacted, "tokenEndpointURL": tokenEndpointURL.redacted,
        "redirectURL": redirectURL.redacted, "clientID": clientID,
      ])
  }
}

extension OAuth2ClientCredentialsAuthenticationParameters: CustomReflectable {
  /// A mirror without user information and query of the URL.
  public var customMirror: Mirror {
    Mirror(self, children: ["tokenEndpointURL": tokenEndpointURL.redacted, "requestingScopes": requestingScopes])
  }
}
