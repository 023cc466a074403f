extension Redaction {
  /// The URL as text, without its secrets; user information is left out altogether.
  public func redacted(_ url: URL) -> String { redacted(reference: url.absoluteString) }

  /// A URL or a reference to one (RFC 3986 §4.1), readable or not, without its secrets.
  package func redacted(reference: String) -> String {
    guard !hidesNothing else { return reference }
    let bytes = reference.utf8
    let fragment = bytes.firstIndex(of: UInt8(ascii: "#")) ?? bytes.endIndex
    let query = bytes[..<fragment].firstIndex(of: UInt8(ascii: "?")) ?? fragment
    var text = path(Self.withoutUser(reference[..<query]))
    if query < fragment {
      text += hidesQueries ? "?…" : "?" + parameters(reference[query..<fragment].dropFirst(), separator: "&")
    }
    if fragment < reference.endIndex, !hidesQueries {
      text += "#" + parameters(reference[fragment...].dropFirst(), separator: "&")
    }
    return text
  }

  /// `https://user:password@host/path` without what is before the last `@` of the authority.
  package static func withoutUser(_ text: Substring) -> Substring {
    guard let start = text.firstRange(of: "//")?.upperBound else { return text }
    let end = text[start...].firstIndex { "/?#".contains($0) } ?? text.endIndex
    guard let at = text[start..<end].lastIndex(of: "@") else { return text }
    return text[..<start] + text[text.index(after: at)...]
  }

  /// `/a;jsessionid=1/b`: parameters of a path's segments.
  private func path(_ text: Substring) -> String {
    guard text.utf8.contains(UInt8(ascii: ";")) else { return String(text) }
    return text.split(separator: "/", omittingEmptySubsequences: false)
      .map { parameters($0, separator: ";") }.joined(separator: "/")
  }

  /// `a=1&token=2` with the secret values replaced; everything else stays as it is.
  func parameters(_ text: Substring, separator: Character) -> String {
    let pieces = text.split(separator: separator, omittingEmptySubsequences: false)
    let names = pieces.map { PercentEncoding.form.decode($0.prefix { $0 != "=" }) }
    let hidesState = !isShown("state") && SecretName.isStateSecret(among: names)
    return zip(pieces, names).map { piece, name in
      guard let equals = piece.firstIndex(of: "=") else { return String(piece) }
      let value = piece[piece.index(after: equals)...]
      let isSecret =
        hides(name: name, value: PercentEncoding.form.decode(value)) || hidesState && name == "state"
        || isURLWithSecrets(value)
      return isSecret ? piece[...equals] + placeholder : String(piece)
    }
    .joined(separator: String(separator))
  }

  /// Whether a parameter's value is a URL that has secrets of its own: where to go back to after a login, say. However many
  /// URLs are in it: each of their parameters is one after `?`, `&`, `#` or `;`.
  private func isURLWithSecrets(_ value: Substring) -> Bool {
    guard value.utf8.contains(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }) else { return false }
    let url = PercentEncoding.form.decode(value)
    guard url.contains("://") else { return false }
    return Self.withoutUser(url[...]) != url[...]
      || url.split(whereSeparator: { "?&#;".contains($0) }).contains { piece in
        piece.firstIndex(of: "=").map { hides(name: PercentEncoding.form.decode(piece[..<$0])) } ?? false
      }
  }
}

extension URL {
  /// The URL as errors show it: without user information and query, because both carry credentials. The query, where
  /// there is one, becomes `?…`.
  package var redacted: String { Redaction.strict.redacted(absoluteURL) }
}
