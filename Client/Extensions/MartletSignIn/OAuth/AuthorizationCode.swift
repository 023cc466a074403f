@_spi(Toolkit) import MartletEngine
@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics

/// A grant, which a client presents to the token endpoint for an access token (RFC 6749 §4).
@_spi(Credentials) public enum TokenGrant: Sendable, Hashable {
  /// The code from the user's login (§4.1.3), with the verifier of its ``ProofKey`` (RFC 7636 §4.5).
  case authorizationCode(String, redirect: URL, verifier: String?)
  /// The client's own credentials (§4.4.2).
  case clientCredentials(scopes: Set<String>)
  /// The refresh token of an earlier response (§6).
  case refreshToken(String)
  /// The code of a device other than the one on which the user logs in (RFC 8628 §3.4).
  case deviceCode(String)

  /// The name-value pairs of the form, in a fixed order.
  public var pairs: [(name: String, value: String)] {
    switch self {
    case .authorizationCode(let code, let redirect, let verifier):
      var pairs = [(name: "grant_type", value: "authorization_code"), (name: "code", value: code)]
      pairs.append((name: "redirect_uri", value: redirect.absoluteString))
      if let verifier { pairs.append((name: "code_verifier", value: verifier)) }
      return pairs
    case .clientCredentials(let scopes):
      return [(name: "grant_type", value: "client_credentials")] + Self.pair(of: scopes)
    case .refreshToken(let token):
      return [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: token)]
    case .deviceCode(let code):
      return [
        (name: "grant_type", value: "urn:ietf:params:oauth:grant-type:device_code"), (name: "device_code", value: code),
      ]
    }
  }

  /// Returns the pair `scope`; empty if there are no scopes (§3.3).
  public static func pair(of scopes: Set<String>) -> [(name: String, value: String)] {
    scopes.isEmpty ? [] : [(name: "scope", value: scopes.sorted().joined(separator: " "))]
  }

  /// Returns the value of `Authorization` that authenticates a client. Identifier and secret are form-encoded first
  /// (§2.3.1).
  public static func basic(clientID: String, secret: String) throws(CredentialError) -> String {
    let form = PercentEncoding.form
    return try BasicScheme.authorization(for: Credential(user: form.encode(clientID), password: form.encode(secret)))
  }
}

/// The request for an authorization code, which the user's browser makes (RFC 6749 §4.1.1), and the parser of its
/// result.
@_spi(Credentials) public struct AuthorizationCodeRequest: Sendable {
  public var endpoint: URL
  public var clientID: String
  public var redirect: URL
  public var scopes: Set<String>
  /// An unguessable value. A redirect without it does not belong to this request (§10.12).
  public var state: String
  /// The challenge of a ``ProofKey`` and its method (RFC 7636 §4.3).
  public var challenge: (value: String, method: ProofKey.Method)?
  /// The identifier of the server (RFC 8414 §2); nil if it is not known.
  public var issuer: String?
  /// The server's other endpoints, which identify the server if its identifier is not known.
  public var otherEndpoints: [URL] = []
  /// Parameters of the server (§8.2), such as `audience` and `prompt`. None has the name of another parameter.
  public var parameters: [(name: String, value: String)] = []

  public init(endpoint: URL, clientID: String, redirect: URL, scopes: Set<String>, state: String) {
    self.endpoint = endpoint
    self.clientID = clientID
    self.redirect = redirect
    self.scopes = scopes
    self.state = state
  }

  /// The URL of the page to show; nil if the endpoint cannot have a query. A query of the endpoint is kept (§3.1).
  public var url: URL? { url(of: pairs + parameters) }

  /// The URL of the page with other pairs.
  func url(of pairs: [(name: String, value: String)]) -> URL? {
    var parts = URLComponents(url: endpoint, resolvingAgainstBaseURL: true)
    let own = [parts?.percentEncodedQuery].compactMap { $0 }.filter { !$0.isEmpty }
    let query = PercentEncoding.queryComponent.encode(pairs)
    parts?.percentEncodedQuery = (own + [query]).joined(separator: "&")
    return parts?.url
  }

  /// The pairs of the request without ``parameters``.
  public var pairs: [(name: String, value: String)] {
    var pairs = [(name: "response_type", value: "code"), (name: "client_id", value: clientID)]
    pairs.append((name: "redirect_uri", value: redirect.absoluteString))
    pairs += TokenGrant.pair(of: scopes)
    pairs.append((name: "state", value: state))
    if let challenge {
      pairs.append((name: "code_challenge", value: challenge.value))
      pairs.append((name: "code_challenge_method", value: challenge.method.rawValue))
    }
    return pairs
  }

  /// The result that a redirect carries (§4.1.2, §4.1.2.1).
  public enum Answer: Sendable, Hashable {
    case code(String)
    case refused(TokenRefusal)
    /// The redirect comes from another server (RFC 9207 §2.4), so neither its code nor its refusal answers this
    /// request. The value is the `iss`, for messages.
    case otherIssuer(String)
    /// The URL is not the redirect, or belongs to another request.
    case foreign
  }

  /// Whether an `iss` belongs to the server (RFC 9207 §2.4): whether it equals the known identifier. If none is known,
  /// it must have the origin of one of the server's endpoints, which also keeps other servers out.
  private func isOwn(_ issuer: String) -> Bool {
    if let known = self.issuer { return issuer == known }
    guard let origin = URL(text: issuer).flatMap({ Origin($0) }) else { return false }
    return ([endpoint] + otherEndpoints).contains { Origin($0) == origin }
  }

  /// Returns the parts of a URL that identify a redirect. A browser writes the host in lower case, and the empty path
  /// of an http URL as `/`; URLs of other schemes are compared unchanged.
  private static func comparableParts(of url: URL) -> [String?] {
    guard let origin = Origin(url) else { return [url.scheme, url.host(), url.port.map(String.init), url.path()] }
    return [origin.description, url.path().isEmpty ? "/" : url.path()]
  }

  /// Parses the URL to which the server redirected the browser.
  public func answer(in url: URL) -> Answer {
    guard Self.comparableParts(of: url) == Self.comparableParts(of: redirect) else { return .foreign }
    let query = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedQuery ?? ""
    let list = PercentEncoding.form.pairs(in: query)
    let pairs = Dictionary(list.map { ($0.name, $0.value) }) { first, _ in first }
    guard pairs["state"] == state else { return .foreign }
    if let other = list.first(where: { $0.name == "iss" && !isOwn($0.value) }) {
      return .otherIssuer(other.value.printable(upTo: 300))
    }
    if let error = pairs["error"] {
      return .refused(
        TokenRefusal(code: error, description: pairs["error_description"], uri: pairs["error_uri"]))
    }
    guard let code = pairs["code"], !code.isEmpty else { return .foreign }
    return .code(code)
  }
}

/// Proves that an authorization code is redeemed by the client that requested it (PKCE, RFC 7636).
@_spi(Credentials) public struct ProofKey: Sendable, Hashable {
  /// The way in which the challenge is derived from the verifier (§4.2).
  public enum Method: String, Sendable, Hashable {
    /// The hash of the verifier.
    case s256 = "S256"
    /// The verifier itself, for servers that do not support `S256`.
    case plain
  }

  /// The secret that is sent to the token endpoint with the code (§4.5).
  public let verifier: String

  /// Makes a key from 43 to 128 unreserved characters; nil if the text is anything else (§4.1).
  public init?(verifier: String) {
    let isAllowed = verifier.utf8.allSatisfy { ASCII.isLetter($0) || ASCII.isDigit($0) || "-._~".utf8.contains($0) }
    guard (43...128).contains(verifier.utf8.count), isAllowed else { return nil }
    self.verifier = verifier
  }

  /// Returns the challenge for the authorization request (§4.2, §4.3); nil if the platform does not offer SHA-256.
  public func challenge(_ method: Method) -> String? {
    switch method {
    case .s256: MessageDigest.hash(.sha256, Data(verifier.utf8))?.base64URL
    case .plain: verifier
    }
  }
}

extension Data {
  /// The data in base64url without padding (RFC 4648 §5, RFC 7636 appendix A).
  var base64URL: String {
    let bytes = base64EncodedString().utf8.compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
