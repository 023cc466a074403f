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
  ///   - line: The field value.
  ///   - now: The time from which `Max-Age` counts.
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
  /// - Parameter hasPath: Whether the path was set explicitly, and not taken from the request.
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

/// Parses the date of an `Expires` attribute (RFC 6265bis §5.1.1), such as `Wed, 21-Oct-15 07:28:00 GMT`. Order and
/// punctuation do not matter.
package enum CookieDate {
  /// Returns the date in UTC, whatever zone the text contains; nil if day, month, year or time is missing, does not
  /// exist, or is before 1601. A two-digit year is between 1970 and 2069.
  package static func parse(_ text: some StringProtocol) -> Date? {
    var time: (hour: Int, minute: Int, second: Int)?
    var day: Int?
    var month: Int?
    var year: Int?
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      // The first token that can be a time is the time, and so on, in this order, each once.
      if time == nil, let found = self.time(token) {
        time = found
      } else if day == nil, let found = number(token, digits: 1...2) {
        day = found
      } else if month == nil, let found = self.month(token) {
        month = found
      } else if year == nil, let found = number(token, digits: 2...4) {
        year = found
      }
    }
    guard let time, let day, let month, let year = year.map(fullYear), year >= 1601, time.second <= 59 else {
      return nil
    }
    return CivilTime(
      year: year, month: month, day: day, hour: time.hour, minute: time.minute, second: time.second)?.date
  }

  /// Whether the byte is a delimiter: printable ASCII except digits, letters and the colon; and the tab.
  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// Parses three numbers of one or two digits, separated by colons. Text after the last digit is ignored.
  private static func time(_ token: some Collection<UInt8>) -> (hour: Int, minute: Int, second: Int)? {
    let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    guard fields.count == 3, fields[0].allSatisfy(ASCII.isDigit), fields[1].allSatisfy(ASCII.isDigit),
      let hour = number(fields[0], digits: 1...2), let minute = number(fields[1], digits: 1...2),
      let second = number(fields[2], digits: 1...2)
    else { return nil }
    return (hour, minute, second)
  }

  /// Parses the number at the beginning of the token, if it has an allowed number of digits.
  private static func number(_ token: some Collection<UInt8>, digits: ClosedRange<Int>) -> Int? {
    let found = token.prefix(while: ASCII.isDigit)
    guard digits.contains(found.count) else { return nil }
    return found.reduce(0) { $0 * 10 + Int($1 - 48) }
  }

  private static func month(_ token: some Collection<UInt8>) -> Int? {
    let name = token.prefix(3).map { ASCII.lowercased($0) }
    return months.firstIndex { $0.elementsEqual(name) }.map { $0 + 1 }
  }

  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ].map { Array($0.utf8) }

  private static func fullYear(_ year: Int) -> Int {
    switch year {
    case 70...99: year + 1900
    case 0...69: year + 2000
    default: year
    }
  }
}
