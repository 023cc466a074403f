/// The parts of a request URL that cookies depend on: host, path, and whether the connection is secure.
package struct CookieRequest: Sendable, Hashable {
  /// The canonical host.
  package let host: String
  /// The path as it is sent: percent-encoded, at least `/`.
  package let path: String
  /// Whether the scheme is https or wss. http is never secure, not even to localhost.
  package let isSecure: Bool

  /// Creates the parts of a URL; nil if it has no host.
  package init?(_ url: URL) {
    let text = url.absoluteString
    if let origin = Origin(plain: text) {
      host = origin.host
      path = Self.path(ofPlain: text)
      isSecure = origin.isSecure
      return
    }
    guard let encoded = url.host(percentEncoded: true) else { return nil }
    let decoded =
      encoded.utf8.contains(UInt8(ascii: "%")) ? PercentEncoding.pathSegment.decode(encoded) : encoded
    guard let host = CookieHost.canonical(decoded) else { return nil }
    self.host = host
    let path = url.path(percentEncoded: true)
    self.path = path.isEmpty ? "/" : path
    let scheme = url.scheme ?? ""
    isSecure = ASCII.equalIgnoringCase(scheme, "https") || ASCII.equalIgnoringCase(scheme, "wss")
  }

  /// Cuts the path from the text of a URL with scheme and host: `URL.path` takes ten times as long.
  private static func path(ofPlain url: String) -> String {
    let bytes = url.utf8.dropFirst(8)  // a host is at least one byte, after `http://`
    guard let start = bytes.firstIndex(where: isDelimiter), bytes[start] == UInt8(ascii: "/") else { return "/" }
    return String(decoding: bytes[start...].prefix { $0 == UInt8(ascii: "/") || !isDelimiter($0) }, as: UTF8.self)
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
  }
}

/// Canonicalizes and matches hosts (RFC 6265bis §5.1.2 and §5.1.3).
package enum CookieHost {
  /// Returns the canonical host: lower case, A-labels, an IPv6 address without brackets; nil if it is not a valid host.
  package static func canonical(_ host: some StringProtocol) -> String? {
    var host = Substring(host)
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else { return nil }
    if host.utf8.allSatisfy({ $0 < 128 }) { return ASCII.lowercased(host) }
    // UTS #46 defines three more full stops.
    let labels = host.split(omittingEmptySubsequences: false) { ".\u{3002}\u{FF0E}\u{FF61}".contains($0) }
    let encoded = labels.compactMap { Punycode.encode(label: $0) }
    return encoded.count == labels.count ? encoded.joined(separator: ".") : nil
  }

  /// Whether the host is the domain or a subdomain of it. An address is not a subdomain of anything.
  package static func matches(_ host: String, domain: String) -> Bool {
    guard host.utf8.count != domain.utf8.count else { return host == domain }
    return isBelow(host, domain) && !isAddress(host)
  }

  /// Whether the host ends with a dot and the domain.
  private static func isBelow(_ host: String, _ domain: String) -> Bool {
    let difference = host.utf8.count - domain.utf8.count
    guard difference > 0, !domain.isEmpty, host.utf8.dropFirst(difference).elementsEqual(domain.utf8) else {
      return false
    }
    return host.utf8.dropFirst(difference - 1).first == UInt8(ascii: ".")
  }

  /// Whether the host is an IPv4 or IPv6 address.
  package static func isAddress(_ host: String) -> Bool {
    guard !host.utf8.contains(UInt8(ascii: ":")) else { return true }
    // Most names end with a letter.
    guard host.utf8.last.map(ASCII.isDigit) == true else { return false }
    let parts = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { part in
        (1...3).contains(part.count) && part.allSatisfy(ASCII.isDigit)
          && part.reduce(0) { $0 * 10 + Int($1 - 48) } <= 255
      }
  }
}

/// Matches paths (RFC 6265bis §5.1.4), as the bytes of the request, without decoding.
package enum CookiePath {
  /// Returns the default path of a cookie: that of the request, up to its last slash.
  package static func standard(for requestPath: String) -> String {
    guard requestPath.utf8.first == UInt8(ascii: "/"),
      let last = requestPath.utf8.lastIndex(of: UInt8(ascii: "/")), last != requestPath.startIndex
    else { return "/" }
    return String(requestPath[..<last])
  }

  /// Whether the path of a request matches that of a cookie: they are equal, or the path of the cookie is a prefix that
  /// ends with a segment.
  package static func matches(_ requestPath: String, cookiePath: String) -> Bool {
    guard requestPath.utf8.starts(with: cookiePath.utf8) else { return false }
    let rest = requestPath.utf8.dropFirst(cookiePath.utf8.count)
    return rest.isEmpty || cookiePath.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
  }
}
