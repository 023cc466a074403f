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
  /// non-ASCII characters are A-labels after the mapping of UTS #46: `Bücher.example` is `xn--bcher-kva.example`,
  /// however its ü is composed. Notations of the same address are one host: `127.1` is `127.0.0.1`, and an IPv6 address
  /// is as in RFC 5952.
  public let host: String
  /// The port; 80 for http and 443 for https if the URL has none.
  public let port: Int

  /// Creates the origin of a URL; nil if the URL is neither http nor https, or has no valid host or port.
  ///
  /// A URL that programs read differently has none: with a backslash in its authority, an invalid A-label, a host that
  /// ends with a number and is no address, or brackets around a name.
  public init?(_ url: URL) {
    let text = url.absoluteString
    guard let origin = Self(plain: text) ?? Self(anyOf: text) else { return nil }
    self = origin
  }

  /// Returns the origin of a URL, and whether the URL is known to be one whose normalized form is itself; see
  /// ``URL/normalized(keepsDotSegments:)``.
  package static func reading(_ url: URL) -> (origin: Origin?, isNormal: Bool) {
    var text = url.absoluteString
    guard let origin = Self(plain: text) else { return (Self(anyOf: text), false) }
    return (origin, text.withUTF8 { !DotSegments.mayBe(in: $0, from: 8) })
  }

  private init?(anyOf url: String) {
    let scheme = ASCII.lowercased(url.prefix { $0 != ":" })
    guard let defaultPort = Self.defaultPort(of: scheme), let authority = try? URLAuthority(of: url) else { return nil }
    self.scheme = scheme
    host = authority.host
    port = authority.port ?? defaultPort
  }

  /// Creates the origin of a URL in its usual form: scheme and host in lower case, without user information, with a host
  /// that is written as ``HostName`` has it. nil for any other URL. The parts of a `URL` take ten times as long to get.
  init?(plain url: String) {
    var url = url
    let parts = url.withUTF8 { bytes -> (isSecure: Bool, host: String, port: Int?)? in
      let isSecure = bytes.count > 4 && bytes[4] == UInt8(ascii: "s")
      let start = isSecure ? 8 : 7
      guard bytes.count > start, ByteScan.begins(.init(bytes), with: isSecure ? "https://" : "http://") else {
        return nil
      }
      guard var end = HostName.canonicalEnd(in: bytes, from: start) else { return nil }
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
}
