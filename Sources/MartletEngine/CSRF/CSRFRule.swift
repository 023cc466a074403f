import MartletSemantics

/// The words of the token protocol, read and written.
enum CSRFRule {
  /// Whether the method needs a token: all but those that change nothing by definition.
  static func protects(_ method: HTTPMethod) -> Bool { ![.get, .head, .options, .trace].contains(method) }

  /// The token in a head; nil if there is none. `Required` and `Fetch` are words of the protocol and no tokens.
  ///
  /// What cannot be printed is left out, because some servers pad their tokens with it.
  static func token(in head: ResponseHead, field: FieldName) -> String? {
    head.fields[values: field].lazy.map(printable).first { !$0.isEmpty && !isWord($0) }
  }

  /// Whether a response refuses the token that the request carried, or its having none.
  static func refuses(_ head: ResponseHead, _ options: CSRFOptions) -> Bool {
    options.refusals.contains(head.status)
      && head.fields[values: options.field].contains { ASCII.equalIgnoringCase(printable($0), "required") }
  }

  /// The requests that may bring a token, in the order in which to try them.
  ///
  /// The URL as it was written comes first. HEAD costs least, but some servers do not know it, or leave fields out of it. Some
  /// redirect a path without a slash at its end, others know only that one.
  static func questions(for url: URL) -> [(method: HTTPMethod, url: URL)] {
    [url, otherSlashForm(of: url)].compactMap(\.self).flatMap { [(.head, $0), (.get, $0)] }
  }

  /// Whether a URL lies at or below a root: on its origin, and in its folder.
  static func covers(_ root: URL, _ url: URL) -> Bool {
    guard let origin = Origin(root), origin == Origin(url) else { return false }
    let folder = path(of: root.standardized, endsInSlash: true)
    return path(of: url.standardized, endsInSlash: true).hasPrefix(folder)
  }

  /// The URL with a slash at the end of its path if it has none, without it otherwise; nil where the path is the root.
  private static func otherSlashForm(of url: URL) -> URL? {
    guard !path(of: url, endsInSlash: false).isEmpty else { return nil }
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    parts?.percentEncodedPath = path(of: url, endsInSlash: !url.path(percentEncoded: true).hasSuffix("/"))
    return parts?.url
  }

  static func path(of url: URL, endsInSlash: Bool) -> String {
    let path = url.path(percentEncoded: true)
    let bare = path.hasSuffix("/") ? String(path.dropLast()) : path
    return endsInSlash ? bare + "/" : bare
  }

  private static func isWord(_ value: String) -> Bool {
    ASCII.equalIgnoringCase(value, "required") || ASCII.equalIgnoringCase(value, "fetch")
  }

  private static func printable(_ value: String) -> String {
    String(decoding: value.utf8.filter { (33...126).contains($0) }, as: UTF8.self)
  }
}
