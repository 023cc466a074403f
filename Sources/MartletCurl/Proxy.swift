#if os(Linux)
import MartletEngine

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
    let schemes: Set<Scheme>
  }

  /// How a client shows an HTTP proxy who it is. libcurl computes them all: they belong to the connection.
  public enum Scheme: Sendable, Hashable {
    /// The password in the clear (RFC 7617), at once and without being asked where it is the only scheme.
    case basic
    /// A proof that the password is known (RFC 7616).
    case digest
    /// A ticket by way of GSS-API, Kerberos most of the time (RFC 4559).
    case negotiate
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

  /// The same proxy with a user name and a password, which also go to a `CONNECT`.
  ///
  /// - Parameters:
  ///   - user: the user's name.
  ///   - password: the password.
  ///   - schemes: what may be answered; the strongest that the proxy offers is. Basic and Digest by default; without Basic
  ///     the password never goes out itself. A SOCKS5 proxy has its own way (RFC 1929), whatever is said here.
  public func authenticated(
    user: String, password: String, schemes: Set<Scheme> = [.basic, .digest]
  ) -> Proxy {
    var copy = self
    copy.credentials = Credentials(user: user, password: password, schemes: schemes)
    return copy
  }

  /// The same proxy with the user's own ticket (Negotiate): run `kinit` before. Where libcurl was built without GSS-API, a
  /// request is an error of kind ``HTTPError/Kind/authenticationFailed``.
  public func negotiated() -> Proxy { authenticated(user: "", password: "", schemes: [.negotiate]) }

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
