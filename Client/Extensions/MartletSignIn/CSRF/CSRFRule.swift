import MartletEngine
@_spi(Toolkit) import MartletSemantics

/// The syntax of the token protocol.
enum CSRFRule {
  /// Whether a method needs a token: all except GET, HEAD, OPTIONS and TRACE, the safe ones of RFC 9110 §9.2.1, and
  /// QUERY (RFC 10008 §2).
  static func protects(_ method: HTTPMethod) -> Bool { ![.get, .head, .options, .trace, .query].contains(method) }

  /// Returns the token in a head; nil if there is none. `Required` and `Fetch` are not tokens.
  ///
  /// Unprintable characters are removed, because some servers pad their tokens with them.
  static func token(in head: ResponseHead, field: FieldName) -> String? {
    head.fields[values: field].lazy.map(printable).first { !$0.isEmpty && !isKeyword($0) }
  }

  /// Whether a response refuses the request because of its token, or because it had none.
  static func refuses(_ head: ResponseHead, _ options: CSRFOptions) -> Bool {
    options.refusals.contains(head.status)
      && head.fields[values: options.field].contains { ASCII.equalIgnoringCase(printable($0), "required") }
  }

  /// Returns the requests that may return a token, in the order in which to try them.
  ///
  /// The given URL comes first. HEAD has the smallest response, but some servers do not support it, or omit fields.
  /// Some servers redirect a path without a slash at its end; others support only that form.
  static func fetchRequests(for url: URL) -> [(method: HTTPMethod, url: URL)] {
    [url, otherSlashForm(of: url)].compactMap(\.self).flatMap { [(.head, $0), (.get, $0)] }
  }

  /// Whether the search for a token ends with a response that has none.
  ///
  /// GET is tried after HEAD. The other form of the path is tried only if the server does not know the given form. For
  /// the other form, GET is tried only if the server knows it. After 401 the user has to sign in first.
  static func endsSearch(_ status: HTTPStatus, after method: HTTPMethod, isOtherForm: Bool) -> Bool {
    if status == .unauthorized { return true }
    let isUnknown = [.badRequest, .notFound, .gone].contains(status)
    return method == .head ? isOtherForm && isUnknown : !isUnknown
  }

  /// Whether GET is tried after a request of this method that failed: after a HEAD that was sent, and whose connection
  /// ended instead of an answer.
  static func triesGET(after error: HTTPError, of method: HTTPMethod) -> Bool {
    method == .head && !error.isUnsent && !error.isTimeout && !error.isCancelled
  }

  /// Whether a URL that returned this status without a token will not return one soon: the server has neither failed
  /// nor asked for a login.
  static func isFinal(_ status: HTTPStatus) -> Bool {
    status.isSuccessful || [.notFound, .gone, .methodNotAllowed].contains(status)
  }

  /// Whether a URL has the origin of a root, and is at or below its path.
  static func covers(_ root: URL, _ url: URL) -> Bool {
    guard let origin = Origin(root), origin == Origin(url) else { return false }
    let folder = path(of: root.standardized, endsInSlash: true)
    return path(of: url.standardized, endsInSlash: true).hasPrefix(folder)
  }

  /// Returns the URL with the slash at the end of its path added or removed; nil if the path is `/`.
  private static func otherSlashForm(of url: URL) -> URL? {
    guard !path(of: url, endsInSlash: false).isEmpty else { return nil }
    var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    parts?.percentEncodedPath = path(of: url, endsInSlash: !url.path(percentEncoded: true).hasSuffix("/"))
    return parts?.url
  }

  /// Returns the path of a URL with or without a slash at its end.
  static func path(of url: URL, endsInSlash: Bool) -> String {
    let path = url.path(percentEncoded: true)
    let bare = path.hasSuffix("/") ? String(path.dropLast()) : path
    return endsInSlash ? bare + "/" : bare
  }

  private static func isKeyword(_ value: String) -> Bool {
    ASCII.equalIgnoringCase(value, "required") || ASCII.equalIgnoringCase(value, "fetch")
  }

  private static func printable(_ value: String) -> String {
    String(decoding: value.utf8.filter { (33...126).contains($0) }, as: UTF8.self)
  }
}
