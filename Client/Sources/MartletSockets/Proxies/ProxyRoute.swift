#if os(Linux)
import MartletEngine
import MartletSemantics

/// How a request reaches its origin. It is part of the pool's key: connections by different routes are never mixed.
enum ProxyRoute: Sendable, Hashable {
  case direct
  /// An HTTP proxy; TLS protects the connection to an https one.
  case http(ProxyServer, isTLS: Bool)
  /// A SOCKS5 proxy, which gets the origin's name if it resolves names, its address otherwise.
  case socks5(ProxyServer, resolvesNames: Bool)

  /// The proxy; nil if there is none.
  var server: ProxyServer? {
    switch self {
    case .direct: nil
    case .http(let server, _), .socks5(let server, _): server
    }
  }

  /// Whether the connection to the proxy uses TLS.
  var isSecure: Bool { if case .http(_, isTLS: true) = self { true } else { false } }

  /// The proxy that gets requests for an origin itself, with the absolute URL as their target (RFC 9112 §3.2.2); nil if
  /// there is none, or if requests go through a tunnel.
  func forwarder(for origin: Origin) -> ProxyServer? {
    if case .http(let server, _) = self, !origin.isSecure { server } else { nil }
  }
}

/// The proxy settings of a transport: which requests use which proxy. Made once, from ``Proxy`` and the environment.
///
/// The environment is read as curl reads it; an empty variable counts as missing:
///
/// | for | variables, the first one counts |
/// |---|---|
/// | http | `http_proxy`, `all_proxy`, `ALL_PROXY` |
/// | https | `https_proxy`, `HTTPS_PROXY`, `all_proxy`, `ALL_PROXY` |
/// | hosts without a proxy | `no_proxy`, `NO_PROXY`; see ``ProxyBypass`` |
///
/// `HTTP_PROXY` is ignored: in a CGI program it contains the field `Proxy` of the request that is being served.
struct ProxySettings: Sendable {
  private let plain: Result<ProxyRoute, HTTPError>
  private let secure: Result<ProxyRoute, HTTPError>
  private let bypasses: [ProxyBypass]

  /// Reads the settings. A mistake in them fails the requests that would use them.
  init(_ proxy: Proxy, environment: [String: String]) {
    var bypasses = [ProxyBypass(proxy.bypass.joined(separator: ","))]
    switch proxy.route {
    case .direct:
      plain = .success(.direct)
      secure = .success(.direct)
    case .server(let url):
      plain = Self.route(url, .setting, proxy.credentials)
      secure = plain
    case .environment:
      func route(_ names: [String]) -> Result<ProxyRoute, HTTPError> {
        guard let (name, url) = Self.first(of: names, in: environment) else { return .success(.direct) }
        return Self.route(url, .variable(name), proxy.credentials)
      }
      plain = route(["http_proxy", "all_proxy", "ALL_PROXY"])
      secure = route(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
      if let (_, list) = Self.first(of: ["no_proxy", "NO_PROXY"], in: environment) {
        bypasses.append(ProxyBypass(list))
      }
    }
    self.bypasses = bypasses
  }

  /// Returns the route to an origin.
  ///
  /// - Throws: ``HTTPError/Kind/proxyFailed`` with the name of the setting or the variable if it names no usable proxy.
  func route(to origin: Origin) throws(HTTPError) -> ProxyRoute {
    let result = origin.isSecure ? secure : plain
    if case .success(.direct) = result { return .direct }
    if bypasses.contains(where: { $0.contains(origin.host, port: origin.port) }) { return .direct }
    return try result.get()
  }

  private static func first(of names: [String], in environment: [String: String]) -> (name: String, value: String)? {
    for name in names {
      if let value = environment[name], !value.isEmpty { return (name, value) }
    }
    return nil
  }

  private static func route(
    _ text: String, _ source: ProxyServer.Source, _ credentials: Proxy.Credentials?
  ) -> Result<ProxyRoute, HTTPError> {
    let url: ProxyURL
    do throws(ProxyURL.Fault) { url = try ProxyURL(text) } catch {
      let message = "the proxy that is \(source) cannot be used: \(error.reason)"
      return .failure(HTTPError(.proxyFailed, message, phase: .preparing))
    }
    let server = ProxyServer(
      host: url.host, port: url.port, credentials: Self.credentials(url.credential, credentials), source: source)
    return switch url.scheme {
    case .http: .success(.http(server, isTLS: false))
    case .https: .success(.http(server, isTLS: true))
    case .socks5: .success(.socks5(server, resolvesNames: false))
    case .socks5h: .success(.socks5(server, resolvesNames: true))
    }
  }

  /// Returns the URL's credentials, or else those of the settings. Without settings, Basic is the only scheme, as in
  /// curl.
  private static func credentials(_ ofURL: Credential?, _ ofSettings: Proxy.Credentials?) -> ProxyCredentials? {
    switch ofSettings {
    case .password(let user, let password, let schemes):
      .password(ofURL ?? Credential(user: user, password: password), schemes: schemes)
    case .tokens(let tokens) where ofURL == nil: .tokens(tokens)
    case .tokens, nil: ofURL.map { .password($0, schemes: [.basic]) }
    }
  }
}
#endif
