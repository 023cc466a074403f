/// The origin of an http or https URL: scheme, host and port (RFC 6454 §4, RFC 9110 §4.3.1). That of a ws or wss URL is
/// the one its handshake is sent to: `wss://example.com/` has the origin of `https://example.com/`.
///
/// Data for one origin, credentials in particular, must not be sent to another.
///
/// ```swift
/// Origin(URL(string: "https://Example.com/a")!) == Origin(URL(string: "https://example.com:443/b")!)   // true
/// ```
public struct Origin: Sendable, Hashable, CustomStringConvertible {
  /// `http` or `https`.
  public let scheme: String
  /// The host, in lower case and decoded: a name, an IPv4 address, or an IPv6 address without brackets. Labels with
  /// non-ASCII characters are A-labels after the mapping of UTS #46: `Bücher.example` is `xn--bcher-kva.example`,
  /// however its ü is composed. All notations of an address give one host: `127.1` is `127.0.0.1`, and an IPv6 address
  /// has the form of RFC 5952.
  public let host: String
  /// The port; 80 for http and 443 for https if the URL has none.
  public let port: Int

  /// Makes the origin of a URL; nil if its scheme is none of http, https, ws and wss, or it has no valid host or port.
  ///
  /// A URL that programs read differently has no origin: with a backslash in its authority, an invalid A-label, a host
  /// that ends with a number and is not an address, or brackets around a name.
  public init?(_ url: URL) {
    guard let origin = URLReading(url).origin ?? url.ofWebSocketHandshake.flatMap({ URLReading($0).origin }) else {
      return nil
    }
    self = origin
  }

  fileprivate init?(anyOf url: String) {
    let scheme = ASCII.lowercased(url.prefix { $0 != ":" })
    guard let defaultPort = Self.defaultPort(of: scheme), let authority = try? URLAuthority(of: url) else { return nil }
    self.scheme = scheme
    host = authority.host
    port = authority.port ?? defaultPort
  }

  fileprivate init(isSecure: Bool, host: String, port: Int?) {
    scheme = isSecure ? "https" : "http"
    self.host = host
    self.port = port ?? (isSecure ? 443 : 80)
  }

  /// Whether the scheme is https.
  public var isSecure: Bool { scheme == "https" }

  /// The origin as the `Origin` field contains it (RFC 6454 §6.2): the port is omitted if it is the default of the
  /// scheme.
  public var description: String { "\(scheme)://" + withPort(Self.isIPv6(host) ? "[\(host)]" : host) }

  /// Host and port in the form of the `Host` field (RFC 9110 §7.2). The zone of an address is omitted, because it is
  /// only meaningful locally (RFC 6874 §4). So is the port if it is the default of the scheme.
  @_spi(Toolkit) public var authority: String {
    withPort(Self.isIPv6(host) ? "[\(host.prefix { $0 != "%" })]" : host)
  }

  private static func isIPv6(_ host: String) -> Bool { host.utf8.contains(UInt8(ascii: ":")) }

  private func withPort(_ host: String) -> String { port == (isSecure ? 443 : 80) ? host : "\(host):\(port)" }

  private static func defaultPort(of scheme: String) -> Int? {
    switch scheme {
    case "http": 80
    case "https": 443
    default: nil
    }
  }
}

/// The facts that one pass over the text of a URL finds. Every request needs them, and getting the parts of a `URL`
/// takes ten times as long.
package struct URLReading: Sendable {
  package let origin: Origin?
  /// Whether the URL is known to be normalized already, which is almost always the case; see
  /// ``URL/normalized(keepsDotSegments:)``.
  package let isNormal: Bool
  /// Whether the URL is known to equal that of its ``CacheKey``: it has no default port, a path, and no fragment.
  package let isCacheKey: Bool
  /// Whether the URL may have user information; false if it is in its usual form.
  package let mayHaveUserInformation: Bool

  package init(_ url: URL) {
    var text = url.absoluteString
    if let usual = text.withUTF8({ Self(usual: $0) }) {
      self = usual
    } else {
      origin = Origin(anyOf: text)
      (isNormal, isCacheKey, mayHaveUserInformation) = (false, false, true)
    }
  }

  /// Reads a URL in its usual form: scheme and host in lower case, without user information, and with a host in the
  /// form of ``HostName``. nil for any other URL.
  private init?(usual url: UnsafeBufferPointer<UInt8>) {
    let isSecure = url.count > 4 && url[4] == UInt8(ascii: "s")
    let start = isSecure ? 8 : 7
    guard url.count > start, ByteScan.begins(.init(url), with: isSecure ? "https://" : "http://"),
      let hostEnd = HostName.canonicalEnd(in: url, from: start)
    else { return nil }
    var end = hostEnd
    var port: Int?
    if end < url.count, url[end] == UInt8(ascii: ":") {
      end += 1
      port = Self.port(in: url, &end)
      guard port != nil else { return nil }
    }
    let hasPath = end < url.count && url[end] == UInt8(ascii: "/")
    guard hasPath || end == url.count || url[end] == UInt8(ascii: "?") || url[end] == UInt8(ascii: "#") else {
      return nil
    }
    let host = String(decoding: UnsafeBufferPointer(rebasing: url[start..<hostEnd]), as: UTF8.self)
    origin = Origin(isSecure: isSecure, host: host, port: port)
    let (mayHaveDots, hasFragment) = Self.target(in: url, from: end)
    let hasUsualPort = port.map { $0 != (isSecure ? 443 : 80) && url[hostEnd + 1] != UInt8(ascii: "0") } ?? true
    isNormal = !mayHaveDots
    isCacheKey = hasPath && hasUsualPort && !hasFragment
    mayHaveUserInformation = false
  }

  private static func port(in url: UnsafeBufferPointer<UInt8>, _ end: inout Int) -> Int? {
    var port = 0
    while end < url.count, ASCII.isDigit(url[end]), port <= 65_535 {
      port = port * 10 + Int(url[end] - 48)
      end += 1
    }
    return (1...65_535).contains(port) ? port : nil
  }

  /// Returns whether a segment of the path or the query begins like `.` or `..`, possibly encoded, and whether there is
  /// a fragment.
  private static func target(
    in url: UnsafeBufferPointer<UInt8>, from start: Int
  ) -> (mayHaveDots: Bool, hasFragment: Bool) {
    var mayHaveDots = false
    var previous: UInt8 = 0
    for byte in url[start...] {
      if byte == UInt8(ascii: "#") { return (mayHaveDots, true) }
      if previous == UInt8(ascii: "/"), byte == UInt8(ascii: ".") || byte == UInt8(ascii: "%") { mayHaveDots = true }
      previous = byte
    }
    return (mayHaveDots, false)
  }
}
