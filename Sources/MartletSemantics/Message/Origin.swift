/// The origin of an http or https URL: scheme, host and port (RFC 6454 §4, RFC 9110 §4.3.1).
///
/// What was meant for one origin, credentials in particular, must not be sent to another.
///
/// ```swift
/// Origin(URL(string: "https://Example.com/a")!) == Origin(URL(string: "https://example.com:443/b")!)   // true
/// ```
public struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  public let scheme: String
  /// The host, in lower case and decoded: a name, an IPv4 address, or an IPv6 address without brackets. Labels with
  /// non-ASCII characters are A-labels: `bücher.example` is `xn--bcher-kva.example` (RFC 5891 §4.4).
  ///
  /// Hosts are compared as text: two notations of the same IPv6 address are two hosts.
  public let host: String
  /// The port; 80 for http and 443 for https if the URL has none.
  public let port: Int

  /// Creates the origin of a URL; nil if the URL is neither http nor https, or has no valid host or port.
  public init?(_ url: URL) {
    guard let scheme = url.scheme.map({ ASCII.lowercased($0) }), let defaultPort = Self.defaultPort(of: scheme),
      let encodedHost = url.host(percentEncoded: true), !encodedHost.isEmpty
    else { return nil }
    let port = url.port ?? defaultPort
    guard let host = CookieHost.canonical(PercentEncoding.pathSegment.decode(encodedHost)),
      (1...65_535).contains(port), Self.isUsable(host)
    else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Whether the scheme is https.
  public var isSecure: Bool { scheme == "https" }

  /// The origin as the `Origin` field contains it (RFC 6454 §6.2): the port is omitted if it is the default of the
  /// scheme.
  public var description: String { "\(scheme)://" + hostAndPort(host) }

  /// Host and port as the `Host` field contains them (RFC 9110 §7.2): without the zone of an address, which is only
  /// meaningful locally (RFC 6874 §4), and without the port if it is the default of the scheme.
  package var authority: String {
    host.utf8.contains(UInt8(ascii: "%")) ? hostAndPort(host.prefix { $0 != "%" }) : hostAndPort(host)
  }

  private func hostAndPort(_ host: some StringProtocol) -> String {
    let literal = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : String(host)
    return port == Self.defaultPort(of: scheme) ? literal : "\(literal):\(port)"
  }

  private static func defaultPort(of scheme: String) -> Int? {
    switch scheme {
    case "http": 80
    case "https": 443
    default: nil
    }
  }

  /// Whether the host contains no character that ends a host, here or in the parser of another program.
  private static func isUsable(_ host: String) -> Bool {
    let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
    return host.utf8.allSatisfy { byte in
      switch byte {
      case 48...57, 97...122, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"): true
      case UInt8(ascii: ":"), UInt8(ascii: "%"): isIPv6  // A zone follows a percent sign (RFC 6874).
      default: false
      }
    }
  }
}
