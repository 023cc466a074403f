extension URL {
  /// Returns the URL to which requests are sent: with the canonical text of its host, and without dot segments in its
  /// path. nil if it already has that form, or has no usable host.
  @_spi(Toolkit) public func normalized(keepsDotSegments: Bool = false) -> URL? {
    let text = absoluteString
    guard let authority = try? URLAuthority(of: text) else { return nil }
    let pathEnd = text[authority.end...].utf8.firstIndex { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }
    let path = text[authority.end..<(pathEnd ?? text.endIndex)]
    let shortened = keepsDotSegments ? nil : DotSegments.removed(from: path)
    let host = authority.literal
    guard shortened != nil || ASCII.lowercased(text[authority.hostRange]) != ASCII.lowercased(host) else { return nil }
    let before = text[..<authority.hostRange.lowerBound]
    let between = text[authority.hostRange.upperBound..<authority.end]
    return URL(string: "\(before)\(host)\(between)\(shortened ?? String(path))\(text[path.endIndex...])")
  }
}

/// The segments `.` and `..` of a path (RFC 3986 §5.2.4). A dot may be encoded, as in the URL Standard: `%2e` is a dot
/// for servers that decode a path before they resolve it.
package enum DotSegments {
  /// Returns the path without dot segments; nil if it has none.
  package static func removed(from path: some StringProtocol) -> String? {
    guard path.utf8.first == UInt8(ascii: "/") else { return nil }
    let segments = path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard segments.contains(where: { dots($0) > 0 }) else { return nil }
    var kept: [String] = []
    for segment in segments {
      switch dots(segment) {
      case 0: kept.append(String(decoding: segment, as: UTF8.self))
      case 1: break
      default: _ = kept.popLast()
      }
    }
    if let last = segments.last, dots(last) > 0 { kept.append("") }
    return "/" + kept.joined(separator: "/")
  }

  /// Returns the number of dots if a segment consists of dots only; otherwise 0.
  private static func dots(_ segment: some Collection<UInt8>) -> Int {
    guard segment.count <= 6 else { return 0 }
    var rest = segment[...]
    var count = 0
    while let byte = rest.first {
      rest = rest.dropFirst()
      if byte == UInt8(ascii: "%"), PercentEncoding.hexadecimalPair(in: rest) == UInt8(ascii: ".") {
        rest = rest.dropFirst(2)
      } else if byte != UInt8(ascii: ".") {
        return 0
      }
      count += 1
    }
    return count <= 2 ? count : 0
  }
}
