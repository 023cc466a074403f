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
    if let origin = Self(plain: url.absoluteString) {
      self = origin
      return
    }
    guard let scheme = url.scheme.map({ ASCII.lowercased($0) }), let defaultPort = Self.defaultPort(of: scheme),
      let encodedHost = url.host(percentEncoded: true), !encodedHost.isEmpty
    else { return nil }
    let port = url.port ?? defaultPort
    guard let host = HostName.canonical(PercentEncoding.pathSegment.decode(encodedHost)),
      (1...65_535).contains(port), Self.isUsable(host)
    else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  /// Creates the origin of a URL in its usual form: scheme and host in lower case, without user information, and of
  /// characters that are not decoded. nil for any other URL. The parts of a `URL` take ten times as long to get.
  init?(plain url: String) {
    var url = url
    let parts = url.withUTF8 { bytes -> (isSecure: Bool, host: String, port: Int?)? in
      let isSecure = bytes.count > 4 && bytes[4] == UInt8(ascii: "s")
      let start = isSecure ? 8 : 7
      guard bytes.count > start, ByteScan.begins(.init(bytes), with: isSecure ? "https://" : "http://") else {
        return nil
      }
      var end = start
      while end < bytes.count, Self.isPlain(bytes[end]) { end += 1 }
      guard end > start else { return nil }
      let host = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self)
      guard end < bytes.count, bytes[end] == UInt8(ascii: ":") else {
        return Self.endsAuthority(bytes, end) ? (isSecure, host, nil) : nil
      }
      end += 1
      var port = 0
      while end < bytes.count, ASCII.isDigit(bytes[end]), port <= 65_535 {
        port = port * 10 + Int(bytes[end] - 48)
        end += 1
      }
      guard (1...65_535).contains(port), Self.endsAuthority(bytes, end) else { return nil }
      return (isSecure, host, port)
    }
    guard let parts else { return nil }
    scheme = parts.isSecure ? "https" : "http"
    host = parts.host
    port = parts.port ?? (parts.isSecure ? 443 : 80)
  }

  /// Whether a byte stands for itself in a host.
  static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case 48...57, 97...122, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }

  private static func endsAuthority(_ bytes: UnsafeBufferPointer<UInt8>, _ end: Int) -> Bool {
    guard end < bytes.count else { return true }
    switch bytes[end] {
    case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return true
    default: return false
    }
  }

  /// Whether the scheme is https.
  public var isSecure: Bool { scheme == "https" }

  /// The origin as the `Origin` field contains it (RFC 6454 §6.2): the port is omitted if it is the default of the
  /// scheme.
  public var description: String { "\(scheme)://" + withPort(Self.isIPv6(host) ? "[\(host)]" : host) }

  /// Host and port as the `Host` field contains them (RFC 9110 §7.2): without the zone of an address, which is only
  /// meaningful locally (RFC 6874 §4), and without the port if it is the default of the scheme.
  package var authority: String {
    withPort(Self.isIPv6(host) ? "[\(host.prefix { $0 != "%" })]" : host)
  }

  private static func isIPv6(_ host: String) -> Bool {
    var host = host
    return host.withUTF8 { $0.contains(UInt8(ascii: ":")) }
  }

  private func withPort(_ host: String) -> String {
    port == (isSecure ? 443 : 80) ? host : host + ":" + String(port)
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
      // A zone follows a percent sign (RFC 6874).
      isPlain(byte) || isIPv6 && (byte == UInt8(ascii: ":") || byte == UInt8(ascii: "%"))
    }
  }
}
