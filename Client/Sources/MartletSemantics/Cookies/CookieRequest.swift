/// The parts of a request URL that cookies depend on: host, path, and whether the connection is secure.
@_spi(Toolkit) public struct CookieRequest: Sendable, Hashable {
  /// The canonical host.
  public let host: String
  /// The path as it is sent: percent-encoded, at least `/`.
  package let path: String
  /// Whether the scheme is https or wss. http is never secure, not even to localhost.
  package let isSecure: Bool

  /// Makes the parts of a URL; nil if it has no valid host.
  public init?(_ url: URL) { self.init(url, origin: URLReading(url).origin) }

  /// Makes the parts of an http or https URL whose origin is known; without it, of any URL.
  package init?(_ url: URL, origin: Origin?) {
    let text = url.absoluteString
    if let origin {
      host = origin.host
      path = Self.path(of: text)
      isSecure = origin.isSecure
      return
    }
    guard let authority = try? URLAuthority(of: text) else { return nil }
    host = authority.host
    let path = url.path(percentEncoded: true)
    self.path = path.isEmpty ? "/" : path
    let scheme = url.scheme ?? ""
    isSecure = ASCII.equalIgnoringCase(scheme, "https") || ASCII.equalIgnoringCase(scheme, "wss")
  }

  /// Cuts the path from the text of an http or https URL: `URL.path` takes ten times as long.
  private static func path(of url: String) -> String {
    let bytes = url.utf8.dropFirst(8)  // A host is at least one byte, after `http://`.
    guard let start = bytes.firstIndex(where: isDelimiter), bytes[start] == UInt8(ascii: "/") else { return "/" }
    return String(decoding: bytes[start...].prefix { $0 == UInt8(ascii: "/") || !isDelimiter($0) }, as: UTF8.self)
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }
}

/// Matches paths (RFC 6265bis §5.1.4) by the bytes of the request, without decoding.
package enum CookiePath {
  /// Returns the default path of a cookie: that of the request, up to its last slash.
  package static func standard(for requestPath: String) -> String {
    guard requestPath.utf8.first == UInt8(ascii: "/"),
      let last = requestPath.utf8.lastIndex(of: UInt8(ascii: "/")), last != requestPath.startIndex
    else { return "/" }
    return String(requestPath[..<last])
  }

  /// Whether the path of a request matches the path of a cookie: they are equal, or the cookie's path is a prefix that
  /// ends at a segment boundary.
  package static func matches(_ requestPath: String, cookiePath: String) -> Bool {
    guard requestPath.utf8.starts(with: cookiePath.utf8) else { return false }
    let rest = requestPath.utf8.dropFirst(cookiePath.utf8.count)
    return rest.isEmpty || cookiePath.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
  }
}
