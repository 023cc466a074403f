/// The URL that a `Location` field refers to (RFC 9110 §10.2.2).
enum RedirectTarget {
  case url(URL)
  /// The target cannot be requested. The reason is for messages, and contains no secrets.
  case unusable(String)

  /// Resolves a reference against the URL of the request (RFC 3986 §5.2), and removes dot segments.
  ///
  /// Invalid characters are percent-encoded, as browsers do. A target without a fragment gets that of the request (RFC
  /// 9110 §10.2.2).
  static func resolve(_ location: String, against base: URL) -> RedirectTarget {
    let reference = encodingInvalidCharacters(of: location)
    guard let resolved = URL(string: reference, relativeTo: base.absoluteURL)?.absoluteURL else {
      return .unusable("its Location \(shown(location)) is not a URL")
    }
    guard let scheme = resolved.scheme.map({ ASCII.lowercased($0) }), scheme == "http" || scheme == "https" else {
      return .unusable("its Location \(shown(location)) is neither http nor https")
    }
    // Dot segments are removed last: otherwise the path in `http:x` would become a host.
    guard let origin = Origin(resolved), case let target = resolved.standardized, Origin(target) == origin else {
      return .unusable("its Location \(shown(location)) has no host, or no usable host and port")
    }
    return .url(inheritingFragment(of: base, by: withHost(of: origin, target)))
  }

  /// Returns the URL with A-labels as its host if the host was not ASCII: not every URL parser decodes hosts.
  private static func withHost(of origin: Origin, _ target: URL) -> URL {
    guard target.host(percentEncoded: true)?.utf8.contains(UInt8(ascii: "%")) == true,
      !origin.host.utf8.contains(UInt8(ascii: ":")),
      var parts = URLComponents(url: target, resolvingAgainstBaseURL: true)
    else { return target }
    parts.encodedHost = origin.host
    return parts.url ?? target
  }

  private static func inheritingFragment(of base: URL, by target: URL) -> URL {
    guard target.fragment == nil, let fragment = base.fragment(percentEncoded: true) else { return target }
    return URL(string: "\(target.absoluteString)#\(fragment)") ?? target
  }

  /// Returns the reference with invalid characters encoded, and valid escapes unchanged.
  ///
  /// `URL` encodes invalid characters too, but then also encodes the percent signs of valid escapes.
  static func encodingInvalidCharacters(of reference: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(reference.utf8.count)
    var rest = Substring(reference).utf8
    var hasFragment = false
    let authority = authorityRange(of: rest)
    while let byte = rest.first {
      let isInAuthority = authority?.contains(rest.startIndex) ?? false
      rest = rest.dropFirst()
      let isValid =
        switch byte {
        case UInt8(ascii: "%"): PercentEncoding.hexadecimalPair(in: rest) != nil
        case UInt8(ascii: "["), UInt8(ascii: "]"): isInAuthority
        case UInt8(ascii: "#"): !hasFragment
        default: isAllowed(byte)
        }
      hasFragment = hasFragment || byte == UInt8(ascii: "#")
      if isValid { bytes.append(byte) } else { PercentEncoding.append(byte, to: &bytes) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the range of the authority: after `//`, at the beginning or after a scheme, up to the next `/`, `?` or
  /// `#`.
  private static func authorityRange(of text: Substring.UTF8View) -> Range<Substring.Index>? {
    let scheme = text.prefix { ASCII.isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) }
    var rest = text[scheme.endIndex...]
    if !scheme.isEmpty {
      guard rest.first == UInt8(ascii: ":") else { return nil }
      rest = rest.dropFirst()
    }
    guard rest.starts(with: "//".utf8) else { return nil }
    rest = rest.dropFirst(2)
    let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
    return rest.startIndex..<end
  }

  /// Whether the byte is an unreserved or reserved character of RFC 3986 §2, without `#`, `[` and `]`, which are only
  /// allowed in certain places.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~:/?@!$&'()*+,;=".utf8.contains(byte)
  }

  /// Returns the reference for messages: without possible credentials, and of limited length.
  static func shown(_ location: String) -> String {
    let path = location.prefix { $0 != "?" && $0 != "#" }
    let shown = path.lastIndex(of: "@").map { "…" + path[$0...] } ?? String(path)
    return String(reflecting: shown.count > 120 ? shown.prefix(120) + "…" : shown)
  }
}
