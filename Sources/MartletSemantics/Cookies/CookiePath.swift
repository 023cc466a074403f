/// Paths as cookies compare them (RFC 6265bis §5.1.4): bytes as they stand in the request, nothing decoded.
package enum CookiePath {
  /// The path of a cookie whose server did not give one: that of the request, up to its last slash.
  package static func standard(for requestPath: String) -> String {
    guard requestPath.utf8.first == UInt8(ascii: "/"),
      let last = requestPath.utf8.lastIndex(of: UInt8(ascii: "/")), last != requestPath.startIndex
    else { return "/" }
    return String(requestPath[..<last])
  }

  /// Whether a cookie with that path goes with a request to this one: they are the same, or the cookie's is a prefix that
  /// ends where a segment does.
  package static func matches(_ requestPath: String, cookiePath: String) -> Bool {
    guard requestPath.utf8.starts(with: cookiePath.utf8) else { return false }
    let rest = requestPath.utf8.dropFirst(cookiePath.utf8.count)
    return rest.isEmpty || cookiePath.utf8.last == UInt8(ascii: "/") || rest.first == UInt8(ascii: "/")
  }
}
