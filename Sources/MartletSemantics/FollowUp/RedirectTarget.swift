/// The URL that a `Location` field means (RFC 9110 §10.2.2).
enum RedirectTarget {
  case url(URL)
  /// Nobody can go there; the reason is for people, and names the place without its secrets.
  case unusable(String)

  /// Resolves a reference against the URL of the request that was answered (RFC 3986 §5.2), dot segments removed.
  ///
  /// Characters that a URL must not hold are encoded, as browsers do. Where the reference has no fragment, it inherits
  /// that of the request (RFC 9110 §10.2.2).
  static func resolve(_ location: String, against base: URL) -> RedirectTarget {
    let reference = encodingInvalidCharacters(of: location)
    guard let resolved = URL(string: reference, relativeTo: base.absoluteURL)?.absoluteURL else {
      return .unusable("its Location \(shown(location)) is no URL")
    }
    guard let scheme = resolved.scheme.map({ ASCII.lowercased($0) }), scheme == "http" || scheme == "https" else {
      return .unusable("its Location \(shown(location)) is neither http nor https")
    }
    // Dot segments go last: removing them makes a host of the path in `http:x`.
    guard let origin = Origin(resolved), case let target = resolved.standardized, Origin(target) == origin else {
      return .unusable("its Location \(shown(location)) has no host, or no usable host and port")
    }
    return .url(inheritingFragment(of: base, by: withHost(of: origin, target)))
  }

  /// The URL with its host in A-labels, where the host was not all ASCII: not every reader of URLs decodes hosts.
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

  /// A reference with everything encoded that a URL must not hold, and nothing encoded twice.
  ///
  /// `URL` would do so by itself, but where one character is invalid it encodes the percent signs of the valid
  /// escapes beside it as well.
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

  /// Where the authority stands: behind `//`, at the beginning or after a scheme, up to the next `/`, `?` or `#`.
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

  /// Unreserved and reserved characters of RFC 3986 §2, without `#`, `[` and `]`, whose place matters.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || "-._~:/?@!$&'()*+,;=".utf8.contains(byte)
  }

  /// The place as it may be shown when it is no URL: without what could be a credential, and not too long.
  static func shown(_ location: String) -> String {
    let path = location.prefix { $0 != "?" && $0 != "#" }
    let shown = path.lastIndex(of: "@").map { "…" + path[$0...] } ?? String(path)
    return String(reflecting: shown.count > 120 ? shown.prefix(120) + "…" : shown)
  }
}
