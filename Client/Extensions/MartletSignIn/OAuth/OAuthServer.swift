public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// What an authorization server says about itself (RFC 8414): its endpoints, and what it supports.
///
/// ```swift
/// let server = try await OAuthServer.discover(issuer, with: session).forCertificates
/// let client = OAuthClient(
///   id: "reports", tokenEndpoint: server.tokenEndpoint, authentication: .certificate, session: session)
/// ```
///
/// It is data of the server, whose identifier was checked. An endpoint that is neither https nor on the loopback
/// interface is an error when something is sent to it.
public struct OAuthServer: Sendable, Hashable {
  /// The identifier, such as `https://login.example.com`: the audience of a signed assertion, and the issuer of
  /// ``OAuthLogin/BrowserOptions``.
  public let issuer: String
  /// The token endpoint.
  public var tokenEndpoint: URL
  /// The authorization endpoint, for ``OAuthLogin/browser(_:options:open:)``; nil if there is none.
  public var authorizationEndpoint: URL?
  /// The device authorization endpoint (RFC 8628), for ``OAuthLogin/device(_:scopes:show:)``; nil if there is none.
  public var deviceEndpoint: URL?
  /// The pushed authorization request endpoint (RFC 9126), for ``OAuthLogin/BrowserOptions/pushEndpoint``; nil if there
  /// is none.
  public var pushEndpoint: URL?
  /// Whether the server refuses authorization requests that were not pushed (RFC 9126 §5).
  public let requiresPushedRequests: Bool
  /// How clients may authenticate themselves (`token_endpoint_auth_methods_supported`), such as `private_key_jwt` and
  /// `tls_client_auth`; `client_secret_basic` if the server names none (RFC 8414 §2).
  public let authenticationMethods: [String]
  /// The algorithms of DPoP's proofs (RFC 9449 §5.1), such as `ES256`; empty if the server does not support DPoP.
  public let proofAlgorithms: [String]
  /// Whether tokens are bound to the client certificate (RFC 8705 §3.3).
  public let bindsTokensToCertificates: Bool
  private let aliases: Endpoints

  /// The server with the endpoints for connections that have a client certificate (`mtls_endpoint_aliases`, RFC 8705
  /// §5). The other endpoints, such as the page of the login, are the same.
  public var forCertificates: OAuthServer {
    var server = self
    server.tokenEndpoint = aliases.token ?? tokenEndpoint
    server.deviceEndpoint = aliases.device ?? deviceEndpoint
    server.pushEndpoint = aliases.push ?? pushEndpoint
    return server
  }

  /// Fetches the description of a server: from `/.well-known/oauth-authorization-server`, and if there is none from
  /// `/.well-known/openid-configuration`. Runs off the caller's actor.
  ///
  /// - Parameters:
  ///   - issuer: the identifier of the server, a URL without query and fragment.
  ///   - session: sends the requests. It needs no client certificate.
  /// - Throws: ``Martlet/HTTPError``, of kind `.unexpectedResponse` if there is no description, and of kind
  ///   `.authenticationFailed` if it lacks a required member, or is that of another server (RFC 8414 §3.3).
  @concurrent public static func discover(
    _ issuer: URL, with session: HTTPSession
  ) async throws(HTTPError) -> OAuthServer {
    try TokenExchange.check(issuer)
    let places = Self.places(of: issuer)
    var (data, response) = try await session.data(for: request(places[0]))
    if !response.status.isSuccessful {
      (data, response) = try await session.data(for: request(places[1]), expecting: .successful)
    }
    guard let server = try? JSONDecoder().decode(OAuthServer.self, from: data) else {
      throw HTTPError(
        .authenticationFailed,
        "the response of \(response.url.redacted) is not JSON with an issuer and a token_endpoint: check the URL",
        phase: .receiving)
    }
    guard Self.isEqual(server.issuer, issuer) else {
      throw HTTPError(
        .authenticationFailed,
        "\(response.url.redacted) describes the authorization server '\(server.issuer.printable(upTo: 300))', which is "
          + "another one (RFC 8414 §3.3): use that identifier if it is meant", phase: .receiving)
    }
    return server
  }

  /// The URLs where a server may describe itself: RFC 8414 §3.1 puts the name before the path of the identifier, and
  /// OpenID Connect after it.
  static func places(of issuer: URL) -> [URL] {
    let path = issuer.path(percentEncoded: true)
    let tail = path.hasSuffix("/") ? String(path.dropLast()) : path
    return ["/.well-known/oauth-authorization-server" + tail, tail + "/.well-known/openid-configuration"]
      .compactMap { path -> URL? in
        var parts = URLComponents(url: issuer, resolvingAgainstBaseURL: true)
        parts?.percentEncodedPath = path
        parts?.query = nil
        parts?.fragment = nil
        return parts?.url
      }
  }

  private static func request(_ place: URL) -> HTTPRequest {
    var request = HTTPRequest(.get, place, fields: [.accept: MediaType.json.description])
    request.options.handlesCookies = false
    request.options.usesCredentials = false
    request.options.bodyLimit = 1 << 20
    request.options.expecting = .any
    return request
  }

  /// Whether two identifiers are the same text; a final slash does not distinguish them, because people write both.
  private static func isEqual(_ identifier: String, _ issuer: URL) -> Bool {
    func trimmed(_ text: String) -> Substring { text.hasSuffix("/") ? text.dropLast() : text[...] }
    return trimmed(identifier) == trimmed(issuer.absoluteString)
  }

  /// Endpoints that may have an alias.
  private struct Endpoints: Sendable, Hashable, Decodable {
    var token: URL?
    var device: URL?
    var push: URL?

    private enum CodingKeys: String, CodingKey {
      case token = "token_endpoint"
      case device = "device_authorization_endpoint"
      case push = "pushed_authorization_request_endpoint"
    }
  }
}

extension OAuthServer: Decodable {
  private enum Key: String, CodingKey {
    case issuer
    case authorization = "authorization_endpoint"
    case requiresPush = "require_pushed_authorization_requests"
    case methods = "token_endpoint_auth_methods_supported"
    case algorithms = "dpop_signing_alg_values_supported"
    case isBound = "tls_client_certificate_bound_access_tokens"
    case aliases = "mtls_endpoint_aliases"
  }

  /// Reads the description of a server (RFC 8414 §2). Its identifier is not checked.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    let endpoints = try Endpoints(from: decoder)
    guard let token = endpoints.token else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "the token_endpoint is missing"))
    }
    issuer = try members.decode(String.self, forKey: .issuer)
    (tokenEndpoint, deviceEndpoint, pushEndpoint) = (token, endpoints.device, endpoints.push)
    authorizationEndpoint = try members.decodeIfPresent(URL.self, forKey: .authorization)
    requiresPushedRequests = try members.decodeIfPresent(Bool.self, forKey: .requiresPush) ?? false
    authenticationMethods = try members.decodeIfPresent([String].self, forKey: .methods) ?? ["client_secret_basic"]
    proofAlgorithms = try members.decodeIfPresent([String].self, forKey: .algorithms) ?? []
    bindsTokensToCertificates = try members.decodeIfPresent(Bool.self, forKey: .isBound) ?? false
    aliases = try members.decodeIfPresent(Endpoints.self, forKey: .aliases) ?? Endpoints()
  }
}
