/// URLs as text: parsing the input of programs and people, queries, and references relative to a base (RFC 3986).
extension URL {
  /// Parses a URL or a relative reference; nil if the text is neither.
  ///
  /// Characters that no URL may contain are percent-encoded, as in browsers; escapes stay unchanged. Text with a
  /// backslash before its path is not a URL: browsers treat it as a slash.
  @_spi(Toolkit) public init?(text: some StringProtocol) {
    let text = String(text)
    guard !Self.hasBackslashBeforePath(text), Self.hasPlainLiteral(text) else { return nil }
    self.init(string: URL.encodingInvalidCharacters(of: text))
  }

  /// Resolves a reference from a server's text (RFC 3986 §5.2), parsed like ``init(text:)``; nil if it is not a URL.
  @_spi(Toolkit) public init?(reference: String, relativeTo base: URL) {
    guard !Self.hasBackslashBeforePath(reference), Self.hasPlainLiteral(reference),
      let url = URL(string: URL.encodingInvalidCharacters(of: reference), relativeTo: base.absoluteURL)
    else { return nil }
    self = url.absoluteURL
  }

  /// Returns the text of a URL with pairs added to its query, before its fragment. An existing query is kept.
  package static func text(_ url: String, adding pairs: [(name: String, value: String)]) -> String {
    guard !pairs.isEmpty else { return url }
    let end = url.utf8.firstIndex(of: UInt8(ascii: "#")) ?? url.endIndex
    let path = url[..<end]
    let separator =
      switch path.utf8.firstIndex(of: UInt8(ascii: "?")) {
      case nil: "?"
      case let start? where path.utf8.index(after: start) == path.endIndex || path.utf8.last == UInt8(ascii: "&"): ""
      default: "&"
      }
    return path + separator + PercentEncoding.queryComponent.encode(pairs) + url[end...]
  }

  /// Returns the URL of a relative reference (RFC 3986 §5.2), with the base as a folder, with or without a slash at its
  /// end. Returns the URL itself if it is not a relative reference. Query and fragment of the base are not used.
  @_spi(Toolkit) public func resolved(inFolder base: URL) -> URL {
    guard scheme == nil, var parts = URLComponents(url: base, resolvingAgainstBaseURL: true) else { return self }
    parts.percentEncodedQuery = nil
    parts.percentEncodedFragment = nil
    if !parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath += "/" }
    guard let folder = parts.url else { return self }
    return URL(string: absoluteString, relativeTo: folder)?.absoluteURL ?? self
  }
}

extension URL {
  /// Returns the reference with invalid characters encoded, and valid escapes unchanged.
  ///
  /// `URL` encodes invalid characters too, but then also encodes the percent signs of valid escapes. It cannot hold a
  /// percent sign without two digits, which the URL Standard keeps: `100%` becomes `100%25`, the same data.
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

  /// Whether a browser would take a backslash for a slash that begins or ends the authority.
  private static func hasBackslashBeforePath(_ reference: String) -> Bool {
    let backslash = UInt8(ascii: "\\")
    guard reference.utf8.contains(backslash) else { return false }
    var rest = reference[...].utf8
    if let colon = rest.firstIndex(where: { ":/\\?#".utf8.contains($0) }), rest[colon] == UInt8(ascii: ":") {
      rest = rest[rest.index(after: colon)...]
      if rest.first == backslash { return true }
    }
    let slashes = rest.prefix(2)
    guard slashes.count == 2, slashes.allSatisfy({ $0 == backslash || $0 == UInt8(ascii: "/") }) else { return false }
    return slashes.contains(backslash) || rest.dropFirst(2).prefix { !"/?#".utf8.contains($0) }.contains(backslash)
  }

  /// Whether the brackets of the authority need no encoding: any escape except that of a percent sign, `%25`, would
  /// become the zone of an address.
  private static func hasPlainLiteral(_ reference: String) -> Bool {
    let bytes = reference[...].utf8
    guard let authority = authorityRange(of: bytes), let start = bytes[authority].lastIndex(of: UInt8(ascii: "["))
    else {
      return true
    }
    var rest = bytes[start..<authority.upperBound].dropFirst().prefix { $0 != UInt8(ascii: "]") }
    while let byte = rest.popFirst() {
      let isPlain =
        byte == UInt8(ascii: "%")
        ? [nil, UInt8(ascii: "%")].contains(PercentEncoding.hexadecimalPair(in: rest)) : isAllowed(byte)
      if !isPlain { return false }
    }
    return true
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
}

extension URL {
  /// The URL that a WebSocket's handshake is sent to: `ws` becomes `http`, and `wss` `https` (RFC 6455 §3). nil for any
  /// other scheme.
  @_spi(Transports) public var ofWebSocketHandshake: URL? {
    guard let scheme else { return nil }
    let isSecure = ASCII.equalIgnoringCase(scheme, "wss")
    guard isSecure || ASCII.equalIgnoringCase(scheme, "ws") else { return nil }
    let rest = absoluteString.dropFirst(scheme.utf8.count)
    return URL(string: (isSecure ? "https" : "http") + rest)
  }
}
