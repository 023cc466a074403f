public import MartletEngine
public import MartletSemantics
public import MartletSignIn
import Synchronization

/// Binds access tokens to a key, and proves with each request that the program has the key (DPoP, RFC 9449): a stolen
/// token is useless without it.
///
/// ```swift
/// let dpop = try DPoP(try await SignatureKey.kept(in: store, as: "dpop-key \(user)"))
/// var client = OAuthClient(id: "app", tokenEndpoint: server.tokenEndpoint, session: HTTPSession())
/// client.binding = dpop                                            // for requests of tokens
/// configuration.credentials = [try await client.tokens(for: .origin(of: api), by: login, keptIn: store)]
/// configuration.finalInterceptors = [dpop]                         // for requests with tokens
/// ```
///
/// - Each attempt has a proof of its own, for its method and URL, so redirects, retries and renewals have one, too. A
///   proof is added only to requests with `Authorization: DPoP`, so it goes where the token goes, and nowhere else.
/// - Nonces (`DPoP-Nonce`) of up to 64 servers are remembered, those of authorization servers apart from those of APIs.
///   A request that a server refuses only for want of its nonce is sent once more with it. So is one with a proof that
///   is refused while the server's clock differs: later proofs follow that clock.
/// - A request that cannot be sent again, because its body is a stream, gets the server's 401; the next one has the
///   nonce.
/// - A server that does not bind the token answers with the type `Bearer`: see ``isRequired``.
/// - The key is as secret as the tokens. If it is lost, the tokens are useless: `OAuthClient` then logs in again.
///
/// Copies share what they know about the servers.
public struct DPoP: TokenBinding, Interceptor {
  /// The private key.
  public let key: SignatureKey
  /// Whether tokens that the server has not bound to the key are refused. True by default, because RFC 9449 §5 demands
  /// it if the protection matters. With false, they are sent as `Bearer`, and have no protection.
  public var isRequired = true

  private let thumbprint: String
  private let header: Data
  private let now: @Sendable () -> Date
  private let servers = ServerMemory()
  private let states = CallLocal(CallState())

  private struct CallState: Sendable {
    /// Whether the last attempt was sent again for another proof. The next one is not.
    var isRepeated = false
  }

  /// Makes a binding.
  ///
  /// - Parameter key: a private key. ``SignatureAlgorithm/ecdsaP256SHA256`` (`ES256`) is supported by most servers:
  ///   ``MartletSignIn/OAuthServer/proofAlgorithms`` lists those of a server.
  /// - Throws: ``SignatureError`` of kind `.unusableKey` if the key is public or a secret.
  public init(_ key: SignatureKey) throws(SignatureError) { try self.init(key) { .now } }

  init(_ key: SignatureKey, now: @escaping @Sendable () -> Date) throws(SignatureError) {
    guard key.canSign, let jwk = key.publicJWK, let thumbprint = key.thumbprint else {
      throw SignatureError(.unusableKey, "DPoP needs a private key: a public key or a shared secret proves nothing")
    }
    (self.key, self.thumbprint, self.now) = (key, thumbprint, now)
    header = Data(#"{"alg":"\#(key.algorithm.joseName)","jwk":\#(jwk),"typ":"dpop+jwt"}"#.utf8)
  }

  /// Returns a proof for a request (§4.2), to send in the field `DPoP`.
  ///
  /// - Parameters:
  ///   - request: the request, whose query and fragment the proof does not cover.
  ///   - token: the access token of the request; nil for a request to an authorization server.
  /// - Throws: ``SignatureError`` if the URL of the request is neither http nor https.
  public func proof(of request: HTTPRequest, token: String? = nil) throws(SignatureError) -> String {
    guard let parts = TargetParts(request.head) else {
      throw SignatureError(.unknownComponent, "a DPoP proof needs an absolute http or https URL")
    }
    let server = Server(origin: "\(parts.scheme)://\(parts.authority)", issuesTokens: token == nil)
    let known = servers[server]
    let claims = ProofClaims(
      ath: token.flatMap { KeyMaterial.sha256(Data($0.utf8)) }?.base64URL, htm: request.method.rawValue,
      htu: server.origin + parts.path, iat: SignedToken.seconds(now().addingTimeInterval(known.clockOffset)),
      jti: SignedToken.identifier(), nonce: known.nonce)
    return try SignedToken.text(header, SignedToken.json(claims), by: key)
  }
}

/// The claims of a proof (RFC 9449 §4.2).
private struct ProofClaims: Encodable {
  var ath: String?
  var htm: String
  var htu: String
  var iat: Int
  var jti: String
  var nonce: String?
}

// MARK: - Requests for tokens

extension DPoP {
  /// `DPoP`.
  public var tokenType: String { "DPoP" }

  /// The thumbprint of the key.
  public var keyID: String { thumbprint }

  /// `dpop_jkt`, which binds the authorization code to the key, too (§10).
  public var authorizationParameters: [(name: String, value: String)] { [(name: "dpop_jkt", value: thumbprint)] }

  /// Adds a proof without a token.
  public func prove(_ request: HTTPRequest) throws -> HTTPRequest {
    var request = request
    request.fields[.dpop] = try proof(of: request)
    return request
  }

  /// Remembers the nonce. Returns true if the server requires one (§8), or has refused a proof and its clock differs.
  public func review(_ response: ResponseHead, of endpoint: URL, refusal: OAuthError?) -> Bool {
    guard let server = Server(of: HTTPRequest(.post, endpoint), issuesTokens: true) else { return false }
    return learn(from: response, of: server, code: refusal?.code ?? response.dpopError)
  }
}

// MARK: - Requests with tokens

extension DPoP {
  public func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    guard let token = request.dpopToken, !request.fields.contains(.dpop) else { return .send(request) }
    var request = request
    request.fields[.dpop] = try proof(of: request, token: token)
    return .send(request)
  }

  public func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
    guard case .success(let response) = outcome, let head = response.networkHead, attempt.sent.dpopToken != nil,
      let server = Server(of: attempt.sent, issuesTokens: false)
    else { return .accept }
    let mayRepeat = learn(from: head, of: server, code: head.dpopError)
    guard mayRepeat, !call[states].isRepeated, attempt.request.body.canBeSent else {
      call[states].isRepeated = false
      return .accept
    }
    call[states].isRepeated = true
    return .resend(attempt.request, reason: "\(server.origin) requires another DPoP proof: trying its nonce or time")
  }

  /// Remembers what a response says about the server's proofs, and returns whether the refused request should be sent
  /// with another one.
  private func learn(from response: ResponseHead, of server: Server, code: String?) -> Bool {
    let nonce = response.fields[.dpopNonce].flatMap { Self.isNonce($0) ? $0 : nil }
    if let nonce { servers.update(server) { $0.nonce = nonce } }
    guard let code else { return false }
    if code == BearerError.useDPoPNonce { return nonce != nil }
    // Keycloak has another code for proofs that its clock refuses.
    guard code == BearerError.invalidDPoPProof || code == BearerError.invalidRequest else { return false }
    let present = now()
    guard let date = response.fields[.date].flatMap({ HTTPDate.parse($0, now: present) }) else { return false }
    return servers.setClock(of: server, to: date.timeIntervalSince(present))
  }

  /// Whether a text can be a nonce (§8.1), and is not too long for a field.
  private static func isNonce(_ text: String) -> Bool {
    (1...2048).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0 == 0x21 || (0x23...0x5B).contains($0) || (0x5D...0x7E).contains($0) }
  }
}

extension DPoP: CustomStringConvertible, CustomReflectable {
  /// The thumbprint of the key.
  public var description: String { "DPoP with the key \(thumbprint)" }

  /// Has no children.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension FieldName {
  fileprivate static let dpop: FieldName = "DPoP"
  fileprivate static let dpopNonce: FieldName = "DPoP-Nonce"
}

extension HTTPRequest {
  /// The token that the request sends with the scheme DPoP; nil if there is none.
  fileprivate var dpopToken: String? {
    guard let value = fields[.authorization], value.utf8.count > 5, value.prefix(5).lowercased() == "dpop " else {
      return nil
    }
    return String(value.dropFirst(5).drop { $0 == " " })
  }
}

extension ResponseHead {
  /// The error of the challenge with the scheme DPoP (RFC 9449 §7.1, §9); nil if there is none.
  fileprivate var dpopError: String? {
    guard status == .unauthorized || status == .badRequest else { return nil }
    return AuthenticationChallenge.challenges(in: fields).lazy.filter { $0.isScheme("DPoP") }
      .compactMap { $0.parameters["error"] }.first
  }
}
