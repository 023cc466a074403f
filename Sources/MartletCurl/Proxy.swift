#if os(Linux)
/// The way to the server, where it is not the direct one.
public struct Proxy: Sendable {
  enum Route: Sendable {
    case environment
    case direct
    case server(String)
  }

  let route: Route
  var credentials: Credentials?
  var bypass: [String] = []

  struct Credentials: Sendable {
    let user: String
    let password: String
  }

  /// The proxy that the environment names: `https_proxy`, `http_proxy`, `all_proxy`, except for the hosts in `no_proxy`.
  public static let environment = Proxy(route: .environment)
  /// None, whatever the environment says.
  public static let direct = Proxy(route: .direct)

  /// An HTTP proxy: plain requests go through it, https in a `CONNECT` tunnel (RFC 9110 §9.3.6).
  public static func http(_ host: String, port: Int) -> Proxy { server("http", host, port) }

  /// An HTTP proxy that is itself reached over TLS.
  public static func https(_ host: String, port: Int) -> Proxy { server("https", host, port) }

  /// A SOCKS5 proxy (RFC 1928), which also resolves the names.
  public static func socks5(_ host: String, port: Int) -> Proxy { server("socks5h", host, port) }

  /// The same proxy with a user name and a password (Basic or Digest for HTTP, RFC 1929 for SOCKS5).
  public func authenticated(user: String, password: String) -> Proxy {
    var copy = self
    copy.credentials = Credentials(user: user, password: password)
    return copy
  }

  /// The same proxy, but hosts under these names are reached directly: `example.com` also means its subdomains.
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
#endif
