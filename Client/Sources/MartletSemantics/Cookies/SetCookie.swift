/// A parsed `Set-Cookie` line. The algorithm for user agents accepts more than the grammar (RFC 6265bis §5.6).
package struct SetCookie: Sendable, Hashable {
  /// The name; may be empty if the value is not.
  package var name: String
  /// The value, including quotes.
  package var value: String
  /// The `Domain` attribute, with or without a leading dot. An empty one has the same meaning as none.
  package var domain: Substring?
  /// The `Path` attribute; nil if it is missing or does not begin with a slash.
  package var path: Substring?
  /// The expiry of `Max-Age` or else of `Expires`; nil if there is neither.
  package var expires: Date?
  package var isSecure = false
  package var isHTTPOnly = false
  package var sameSite = Cookie.SameSite.unspecified

  /// The maximum number of bytes of name and value.
  static let pairLimit = 4096
  /// The maximum number of bytes of an attribute value; longer attributes are ignored.
  static let attributeLimit = 1024
  /// The maximum lifetime of a cookie: 400 days.
  static let ageLimit: TimeInterval = 400 * 86_400

  /// Parses a line.
  ///
  /// - Parameters:
  ///   - line: the field value.
  ///   - now: the time from which `Max-Age` counts.
  /// - Throws: `Cookie.Refusal`, if the line contains no cookie, or one that must be ignored.
  package init(_ line: String, now: Date) throws(Cookie.Refusal) {
    var pieces = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
    let (name, value) = Self.pair(Substring(pieces.removeFirst()), withoutEquals: .value)
    self.name = String(name)
    self.value = String(value)
    guard !line.utf8.contains(where: Self.isForbidden) else {
      throw Cookie.Refusal(.controlCharacter, name: String(name.prefix(64)))
    }
    guard !name.isEmpty || !value.isEmpty else { throw Cookie.Refusal(.empty) }
    guard FieldOctets.count(name) + FieldOctets.count(value) <= Self.pairLimit else {
      throw Cookie.Refusal(.tooLarge, name: String(name.prefix(64)))
    }
    var lifetime = Lifetime()
    for piece in pieces {
      let attribute = Self.pair(Substring(piece), withoutEquals: .name)
      guard FieldOctets.count(attribute.value) <= Self.attributeLimit else { continue }
      take(attribute, &lifetime, now)
    }
    // Max-Age takes precedence over Expires, in any order.
    expires = lifetime.maxAge ?? lifetime.expires
  }

  private struct Lifetime {
    var maxAge: Date?
    var expires: Date?
  }

  /// Processes an attribute. The last one of each name counts.
  private mutating func take(
    _ attribute: (name: Substring, value: Substring), _ lifetime: inout Lifetime, _ now: Date
  ) {
    switch ASCII.lowercased(attribute.name) {
    case "expires":
      guard let date = CookieDate.parse(attribute.value) else { return }
      lifetime.expires = min(date, now.addingTimeInterval(Self.ageLimit))
    case "max-age":
      guard let age = Self.age(attribute.value) else { return }
      lifetime.maxAge = age <= 0 ? .distantPast : now.addingTimeInterval(min(age, Self.ageLimit))
    case "domain": domain = attribute.value
    case "path": path = attribute.value.utf8.first == UInt8(ascii: "/") ? attribute.value : nil
    case "secure": isSecure = true
    case "httponly": isHTTPOnly = true
    case "samesite":
      // An unknown value counts as unspecified (§5.6.7).
      sameSite =
        switch ASCII.lowercased(attribute.value) {
        case "none": .none
        case "lax": .lax
        case "strict": .strict
        default: .unspecified
        }
    default: return
    }
  }

  /// Parses the seconds of `Max-Age`: digits, with an optional minus.
  private static func age(_ text: Substring) -> TimeInterval? {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
    guard digits.count == text.utf8.count else { return -1 }
    return digits.reduce(0) { $0 * 10 + TimeInterval($1 - 48) }
  }

  private enum Part { case name, value }

  /// Returns the text before and after the first `=`, without surrounding white space. Without `=`, the whole text is
  /// the other part.
  private static func pair(_ text: Substring, withoutEquals part: Part) -> (name: Substring, value: Substring) {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      let all = ASCII.trimmed(text)
      return part == .name ? (all, "") : ("", all)
    }
    return (ASCII.trimmed(text[..<equals]), ASCII.trimmed(text[text.utf8.index(after: equals)...]))
  }

  /// Whether the byte is a CTL of RFC 5234 other than the tab.
  static func isForbidden(_ byte: UInt8) -> Bool { ASCII.isControl(byte) && byte != 9 }
}

extension SetCookie {
  /// Returns the cookie that the line sets in response to a request, according to all rules of RFC 6265bis §5.7 that do
  /// not depend on other cookies.
  ///
  /// - Throws: `Cookie.Refusal`, if the cookie must be ignored.
  package func cookie(
    for request: CookieRequest, in context: Cookie.Context, publicSuffixes: PublicSuffixes, now: Date
  ) throws(Cookie.Refusal) -> Cookie {
    let domain = try cookieDomain(of: request.host, publicSuffixes)
    if let path, !path.utf8.allSatisfy({ $0 < 128 }) { throw Cookie.Refusal(.nonASCIIPath, name: name) }
    if isSecure, !request.isSecure { throw Cookie.Refusal(.insecureConnection, name: name) }
    if isHTTPOnly, context.access == .nonHTTP { throw Cookie.Refusal(.httpOnly, name: name) }
    guard context.permitsWriting(sameSite) else { throw Cookie.Refusal(.crossSite, name: name) }
    let cookie = Cookie(
      name: name, value: value, domain: domain ?? request.host, isHostOnly: domain == nil,
      path: path.map(String.init) ?? CookiePath.standard(for: request.path), expires: expires, isSecure: isSecure,
      isHTTPOnly: isHTTPOnly, sameSite: sameSite, created: now)
    try cookie.checkPrefix(hasPath: path != nil)
    return cookie
  }

  /// Returns the domain whose hosts receive the cookie; nil if only the host of the request does.
  private func cookieDomain(of host: String, _ publicSuffixes: PublicSuffixes) throws(Cookie.Refusal) -> String? {
    guard let attribute = domain, !attribute.isEmpty else { return nil }
    guard attribute.utf8.allSatisfy({ $0 < 128 }) else { throw Cookie.Refusal(.nonASCIIDomain, name: name) }
    let named = attribute.utf8.first == UInt8(ascii: ".") ? attribute.dropFirst() : attribute
    guard !named.isEmpty else { throw Cookie.Refusal(.noHost, name: name) }
    guard let domain = HostName.canonical(named) else { throw Cookie.Refusal(.domainMismatch, name: name) }
    if domain == host, HostName.isAddress(host) || publicSuffixes.contains(domain) { return nil }
    guard HostName.matches(host, domain: domain) else { throw Cookie.Refusal(.domainMismatch, name: name) }
    guard !publicSuffixes.contains(domain) else { throw Cookie.Refusal(.publicSuffix, name: name) }
    return domain
  }
}

extension Cookie {
  /// Throws if the cookie lacks the attributes that `SameSite=None` or the prefix of its name requires (RFC 6265bis
  /// §5.7, and the prefixes of draft-ietf-httpbis-layered-cookies). The prefixes are case-insensitive, because some
  /// servers treat them so.
  ///
  /// - Parameter hasPath: whether the path was set explicitly, and not taken from the request.
  func checkPrefix(hasPath: Bool = true) throws(Cookie.Refusal) {
    if sameSite == .none, !isSecure { throw Cookie.Refusal(.sameSiteNoneNotSecure, name: name) }
    let isForHost = isSecure && isHostOnly && hasPath && path == "/"
    let isForHTTP = isSecure && isHTTPOnly
    // A nameless cookie is sent as its value alone, which could look like another name.
    guard let prefix = Prefix(of: name.isEmpty ? value : name) else { return }
    let holds =
      switch prefix {
      case .secure: isSecure
      case .host: isForHost
      case .http: isForHTTP
      case .hostHTTP: isForHost && isForHTTP
      }
    guard holds, !name.isEmpty else { throw Cookie.Refusal(.prefix, name: name) }
  }

  private enum Prefix: String, CaseIterable {
    case hostHTTP = "__host-http-"  // Before `__host-`, its prefix.
    case host = "__host-"
    case http = "__http-"
    case secure = "__secure-"

    init?(of text: String) {
      guard text.utf8.starts(with: "__".utf8) else { return nil }
      let found = Self.allCases.first { prefix in
        text.utf8.prefix(prefix.rawValue.utf8.count).elementsEqual(prefix.rawValue.utf8) { ASCII.lowercased($0) == $1 }
      }
      guard let found else { return nil }
      self = found
    }
  }
}
