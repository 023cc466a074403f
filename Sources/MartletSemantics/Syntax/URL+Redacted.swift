extension URL {
  /// The URL as it may be shown: without user information and query values' secrets, because both carry credentials.
  /// The query, where there is one, becomes `?…`.
  package var redacted: String {
    guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "an unreadable URL" }
    let hadQuery = parts.percentEncodedQuery != nil
    parts.user = nil
    parts.password = nil
    parts.percentEncodedQuery = nil
    parts.fragment = nil
    return (parts.string ?? "an unreadable URL") + (hadQuery ? "?…" : "")
  }
}
