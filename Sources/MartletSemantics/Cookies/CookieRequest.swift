/// What cookies need of a request's URL: host, path, and whether the connection is secure.
package struct CookieRequest: Sendable, Hashable {
  /// In its canonical form.
  package let host: String
  /// As it is sent: percent-encoded, at least `/`.
  package let path: String
  /// Whether the scheme is https (or wss). http is not, to whatever host.
  package let isSecure: Bool

  /// Reads a URL; nil if it has no host.
  package init?(_ url: URL) {
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
}
