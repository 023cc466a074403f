/// URLs as text: parsing what a program or a person wrote, queries, and references relative to a base (RFC 3986).
extension URL {
  /// Parses a URL or a relative reference; nil if the text is neither.
  ///
  /// Characters that no URL may contain are percent-encoded, as browsers do; escapes stay as they are.
  package init?(text: some StringProtocol) {
    self.init(string: RedirectTarget.encodingInvalidCharacters(of: String(text)))
  }

  /// Returns the text of a URL with pairs added to its query, before its fragment. A query that it has is kept.
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

  /// Returns the URL that a relative reference means (RFC 3986 §5.2) where the base is taken as a folder, with or
  /// without a slash at its end; the URL itself if it is no relative reference. Query and fragment of the base are
  /// not used.
  package func resolved(inFolder base: URL) -> URL {
    guard scheme == nil, var parts = URLComponents(url: base, resolvingAgainstBaseURL: true) else { return self }
    parts.percentEncodedQuery = nil
    parts.percentEncodedFragment = nil
    if !parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath += "/" }
    guard let folder = parts.url else { return self }
    return URL(string: absoluteString, relativeTo: folder)?.absoluteURL ?? self
  }
}
