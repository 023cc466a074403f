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
    let reference = URL.encodingInvalidCharacters(of: location)
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

  /// Returns the reference for messages: without possible credentials, and of limited length.
  static func shown(_ location: String) -> String {
    let path = location.prefix { $0 != "?" && $0 != "#" }
    let shown = path.lastIndex(of: "@").map { "…" + path[$0...] } ?? String(path)
    return String(reflecting: shown.count > 120 ? shown.prefix(120) + "…" : shown)
  }
}
