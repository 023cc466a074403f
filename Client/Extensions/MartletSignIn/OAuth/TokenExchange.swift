public import MartletEngine
@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics

/// A request that sends secrets to an endpoint of an authorization server (RFC 6749 §3.2, RFC 8628 §3.1): the options
/// with which every session sends it, and the meaning of its response.
@_spi(Credentials) public struct TokenExchange: Sendable {
  /// The meaning of a response.
  public enum Answer: Sendable {
    /// The body of a successful response.
    case body(Data)
    /// What it says about the user's login, and the server's error, whose texts contain none of the sent secrets; nil
    /// if the response is a redirect, or an error in a form that is not OAuth's.
    case failed(RenewalFailure, OAuthError?)

    /// The server's error; nil if there is none.
    var refusal: OAuthError? { if case .failed(_, let refusal) = self { refusal } else { nil } }
  }

  /// The request, with options that protect the secrets and limit the response to 1 MiB.
  public let request: HTTPRequest
  private let secrets: [String]

  /// - Parameter proofs: adds a proof to each attempt; nil for none.
  init(_ request: HTTPRequest, provedBy proofs: ProofInterceptor?) throws(HTTPError) {
    var request = request
    if let proofs { request.options.interceptors.append(proofs) }
    try self.init(request)
  }

  /// Makes an exchange from a request that has its form and the client's authentication.
  ///
  /// - Throws: an error of kind `.invalidRequest` if secrets must not be sent to its URL.
  public init(_ request: HTTPRequest) throws(HTTPError) {
    try Self.check(request.url)
    var request = request
    Self.restrict(&request.options)
    self.request = request
    secrets = Self.secrets(of: request)
  }

  /// Checks that secrets may be sent to an endpoint (RFC 6749 §3.1, §3.2).
  static func check(_ endpoint: URL) throws(HTTPError) {
    if let origin = Origin(endpoint), origin.isSecure || origin.isLoopback { return }
    throw HTTPError(
      .invalidRequest,
      "the URL '\(endpoint.redacted)' of the authorization server is not https: secrets are sent to it",
      phase: .preparing)
  }

  private static func restrict(_ options: inout RequestOptions) {
    options.redirectPolicy = .manual  // A 307 would send the secrets elsewhere.
    options.cachePolicy = .reloadIgnoringCacheData
    options.handlesCookies = false
    options.bodyLimit = 1 << 20
    options.expecting = .any
  }

  /// Returns the meaning of a response.
  public func answer(_ status: HTTPStatus, _ body: Data) -> Answer { answer(status, body, hiding: []) }

  /// - Parameter proofs: further texts that the server's errors must not repeat.
  func answer(_ status: HTTPStatus, _ body: Data, hiding proofs: [String]) -> Answer {
    let refusal = TokenRefusal(status, body)
    guard refusal != nil || !status.isSuccessful else { return .body(body) }
    return .failed(
      RenewalFailure(status, code: refusal?.code), refusal.map { OAuthError($0, hiding: proofs + secrets) })
  }

  /// The members of a form that a server must not repeat in its errors.
  private static let secretNames = Redaction.standard.hiding(
    names: ["assertion", "client_assertion", "code", "code_verifier", "device_code"])

  /// Returns the secrets in a request's form and its `Authorization`, the longest first: one may be a part of another.
  private static func secrets(of request: HTTPRequest) -> [String] {
    let form = PercentEncoding.form.pairs(in: String(decoding: request.body.bytes ?? Data(), as: UTF8.self))
    var secrets = form.filter { secretNames.hides(name: $0.name) }.map(\.value)
    let authorization = (request.fields[.authorization] ?? "").split(separator: " ", maxSplits: 1)
    if authorization.count == 2 {
      secrets.append(String(authorization[1]))
      let password = Data(base64Encoded: String(authorization[1])).map { bytes in
        String(String(decoding: bytes, as: UTF8.self).drop { $0 != ":" }.dropFirst())
      }
      // The client's secret is form-encoded in Basic (RFC 6749 §2.3.1).
      if let password { secrets += [password, PercentEncoding.form.decode(password)] }
    }
    return secrets.filter { !$0.isEmpty }.sorted { $0.count > $1.count }
  }
}

extension Origin {
  /// Whether requests do not leave the machine (RFC 8252 §8.3).
  var isLoopback: Bool { HostName.isLocal(host) || IPAddress(literal: host)?.kind == .loopback }
}
