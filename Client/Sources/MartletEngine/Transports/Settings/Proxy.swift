public import MartletSemantics

/// Whether requests go through a proxy, and which one.
public struct Proxy: Sendable {
  package enum Route: Sendable {
    case environment
    case direct
    case server(String)
  }

  package let route: Route
  package private(set) var credentials: Credentials?
  package private(set) var bypass: [String] = []

  private init(route: Route) { self.route = route }

  package enum Credentials: Sendable {
    case password(user: String, password: String, schemes: Set<PasswordScheme>)
    case tokens(any ProxyTokens)
  }

  /// Whether the proxy is taken from the environment.
  @_spi(Transports) public var isEnvironment: Bool { if case .environment = route { true } else { false } }

  /// The proxy of the environment: `https_proxy`, `http_proxy`, `all_proxy`, except for the hosts in `no_proxy`.
  public static let environment = Proxy(route: .environment)
  /// No proxy, even if the environment names one.
  public static let direct = Proxy(route: .direct)

  /// An HTTP proxy: plain requests go through it, https in a `CONNECT` tunnel (RFC 9110 §9.3.6).
  public static func http(_ host: String, port: Int) -> Proxy { server("http", host, port) }

  /// An HTTP proxy that is connected to over TLS.
  public static func https(_ host: String, port: Int) -> Proxy { server("https", host, port) }

  /// A SOCKS5 proxy (RFC 1928), which also resolves host names.
  public static func socks5(_ host: String, port: Int) -> Proxy { server("socks5h", host, port) }

  /// Returns the same proxy with a user name and a password, which are sent with `CONNECT` too.
  ///
  /// - Parameters:
  ///   - user: the user's name.
  ///   - password: the password.
  ///   - schemes: the schemes to use; the strongest one that the proxy offers is chosen. Basic and Digest by default;
  ///     without Basic the password itself is never sent. If Basic is the only one, the password is sent with the first
  ///     request, before a challenge. They do not apply to a SOCKS5 proxy (RFC 1929).
  public func authenticated(
    user: String, password: String, schemes: Set<PasswordScheme> = [.basic, .digest]
  ) -> Proxy {
    var copy = self
    copy.credentials = .password(user: user, password: password, schemes: schemes)
    return copy
  }

  /// Returns the same proxy with tokens in place of a user name and a password. `KerberosTickets`, of the product
  /// `MartletKerberos`, makes tokens for Negotiate:
  ///
  /// ```swift
  /// connection.proxy = .http("proxy.example.com", port: 3128).authenticated(by: KerberosTickets())
  /// ```
  ///
  /// No token is sent before the proxy has asked for one with a 407. From then on every `CONNECT`, and every request
  /// that the proxy forwards, has a new one. A user name and a password in a variable of the environment come first,
  /// and a SOCKS5 proxy gets no token. `SocketTransport`, the default on Linux, supports this.
  public func authenticated(by tokens: any ProxyTokens) -> Proxy {
    var copy = self
    copy.credentials = .tokens(tokens)
    return copy
  }

  /// Returns the same proxy without these hosts, which are connected to directly: `example.com` includes its
  /// subdomains.
  public func bypassing(_ hosts: [String]) -> Proxy {
    var copy = self
    copy.bypass = hosts
    return copy
  }

  private static func server(_ scheme: String, _ host: String, _ port: Int) -> Proxy {
    let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    return Proxy(route: .server("\(scheme)://\(literal):\(port)"))
  }
}

/// Makes the tokens that authenticate a client to an HTTP proxy: one for each `CONNECT`, and for each request that the
/// proxy forwards. See ``Proxy/authenticated(by:)``.
///
/// It is a class, because a transport uses a connection only for requests with the same tokens.
public protocol ProxyTokens: AnyObject, Sendable {
  /// The scheme in the proxy's challenge and in the `Proxy-Authorization` of requests: `Negotiate`.
  var scheme: String { get }

  /// Returns the token for one request.
  ///
  /// It is called in a task that is cancelled when the request or the connection is no longer needed. For a `CONNECT`,
  /// its time counts toward ``ConnectionConfiguration/connectTimeout``.
  ///
  /// - Parameter host: the proxy's host as it is configured, in lower case.
  /// - Returns: the part of `Proxy-Authorization` after the scheme.
  /// - Throws: any error ends the request; ``HTTPError/Kind/authenticationFailed`` if there is no token.
  func token(for host: String) async throws -> String
}

extension Proxy: CustomStringConvertible, CustomReflectable {
  /// The route, without credentials.
  public var description: String {
    switch route {
    case .environment: "the environment's proxy"
    case .direct: "no proxy"
    case .server(let url): url
    }
  }

  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
