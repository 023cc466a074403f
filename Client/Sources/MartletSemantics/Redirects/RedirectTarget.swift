/// The URL that a `Location` field (RFC 9110 §10.2.2) or the target of a link (RFC 8288 §3.1) refers to.
enum RedirectTarget {
  case url(URL)
  /// The target cannot be requested. The reason begins with the reference; it is for messages, and contains no secrets.
  case unusable(String)

  /// Resolves a reference against the URL of the request (RFC 3986 §5.2), and removes dot segments.
  ///
  /// Invalid characters are percent-encoded, as browsers do. A target without a fragment gets that of the request (RFC
  /// 9110 §10.2.2). If the request opens a WebSocket, the target may be a ws or wss URL.
  static func resolve(_ reference: String, against base: URL, opensWebSocket: Bool = false) -> RedirectTarget {
    guard var resolved = URL(reference: reference, relativeTo: base) else {
      return .unusable("\(shown(reference)) is not a URL")
    }
    if opensWebSocket, let handshake = resolved.ofWebSocketHandshake { resolved = handshake }
    guard let scheme = resolved.scheme.map({ ASCII.lowercased($0) }), scheme == "http" || scheme == "https" else {
      return .unusable("\(shown(reference)) is neither http nor https")
    }
    guard Origin(resolved) != nil else {
      return .unusable("\(shown(reference)) has no host, or no usable host and port")
    }
    return .url(inheritingFragment(of: base, by: resolved.normalized() ?? resolved))
  }

  private static func inheritingFragment(of base: URL, by target: URL) -> URL {
    guard target.fragment == nil, let fragment = base.fragment(percentEncoded: true) else { return target }
    return URL(string: "\(target.absoluteString)#\(fragment)") ?? target
  }

  /// Returns the reference for messages: without possible credentials, and of limited length.
  static func shown(_ reference: String) -> String {
    let path = reference.prefix { $0 != "?" && $0 != "#" }
    let shown = path.lastIndex(of: "@").map { "…" + path[$0...] } ?? String(path)
    return String(reflecting: shown.count > 120 ? shown.prefix(120) + "…" : shown)
  }
}
