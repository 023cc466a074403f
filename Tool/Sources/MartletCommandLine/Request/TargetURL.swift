@_spi(Toolkit) @_spi(Transports) import MartletSemantics

/// The URL of a call on the command line.
enum TargetURL {
  /// Returns the URL. Without a scheme it is http for this machine, and https for all others.
  ///
  /// `:8080/a` is `http://localhost:8080/a`, and `:/a` or `/a` is `http://localhost/a`.
  ///
  /// - Parameters:
  ///   - opensWebSocket: whether the scheme may be ws or wss; the URL is then that of the handshake.
  ///   - defaultScheme: the scheme of a URL without one; nil for the rule above.
  static func parse(
    _ text: String, opensWebSocket: Bool = false, defaultScheme: String? = nil
  ) throws(UsageError) -> URL {
    let complete = complete(text, defaultScheme)
    guard let url = URL(text: complete), Origin(url) != nil else {
      let scheme = scheme(of: text)
      if let scheme, ["http+unix", "https+unix"].contains(scheme.lowercased()) {
        throw UsageError(
          "the scheme of '\(shown(text))' is '\(scheme)': write http://localhost/… and --unix-socket PATH")
      }
      if let scheme, !["http", "https"].contains(scheme.lowercased()) {
        throw UsageError("the scheme of '\(shown(text))' is '\(scheme)': use http or https")
      }
      switch URLAuthority.fault(of: complete) {
      case nil, .missing?:
        throw UsageError("'\(shown(text))' is not a URL: write one such as example.com/orders or :8080/orders")
      case let fault?: throw UsageError("'\(shown(text))' \(fault)")
      }
    }
    guard let handshake = url.ofWebSocketHandshake else { return url }
    guard opensWebSocket else {
      throw UsageError("the scheme of '\(shown(text))' is for WebSockets: 'martlet ws' opens one, or use http or https")
    }
    return handshake
  }

  private static func shown(_ text: String) -> String { Redaction.standard.redacted(reference: text) }

  private static func complete(_ text: String, _ defaultScheme: String?) -> String {
    // Without a scheme before it, `://` is a mistake at the beginning, and part of the path or the query elsewhere.
    if scheme(of: text) != nil || text.hasPrefix("://") { return text }
    let local = "\(defaultScheme ?? "http")://localhost"
    if text.hasPrefix("/") { return local + text }
    if text.hasPrefix(":") {
      let rest = text.dropFirst()
      guard let first = rest.utf8.first, ASCII.isDigit(first) else { return local + rest }
      return local + text
    }
    return (defaultScheme ?? (isLocal(host(of: text)) ? "http" : "https")) + "://" + text
  }

  /// The scheme before the first `://`; nil if what precedes it is not a scheme (RFC 3986 §3.1).
  private static func scheme(of text: String) -> String? {
    guard let end = text.firstRange(of: "://")?.lowerBound, let first = text.utf8.first, ASCII.isLetter(first),
      text[..<end].utf8.allSatisfy({ ASCII.isLetter($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) })
    else { return nil }
    return String(text[..<end])
  }

  /// The host of a URL that begins with its authority.
  private static func host(of text: String) -> Substring {
    let authority = text.prefix { !"/?#".contains($0) }
    let afterUser = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    if afterUser.hasPrefix("[") { return afterUser.prefix { $0 != "]" } + "]" }
    return afterUser.prefix { $0 != ":" }
  }

  /// Whether the host is this machine: `localhost`, names below it (RFC 6761 §6.3), and the loopback addresses.
  static func isLocal(_ host: some StringProtocol) -> Bool {
    let host = ASCII.lowercased(host)
    return host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
      || (host.hasPrefix("127.") && host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") })
  }
}
