/// A `Set-Cookie` line, read as servers write them and not as the grammar has it (RFC 6265bis §5.6).
package struct SetCookie: Sendable, Hashable {
  /// The name; may be empty if the value is not.
  package var name: String
  /// The value; quotes belong to it.
  package var value: String
  /// The `Domain` attribute without its leading dot. An empty one stands for the host alone, as none does.
  package var domain: Substring?
  /// The `Path` attribute; nil if there is none, or if it does not begin with a slash.
  package var path: Substring?
  /// The end that `Max-Age` or else `Expires` gives; nil if neither does.
  package var expires: Date?
  package var isSecure = false
  package var isHTTPOnly = false
  package var sameSite = Cookie.SameSite.unspecified

  /// The most bytes of name and value together.
  static let pairLimit = 4096
  /// The most bytes of an attribute's value; an attribute with more is ignored.
  static let attributeLimit = 1024
  /// How far ahead a cookie's end may lie: 400 days.
  static let ageLimit: TimeInterval = 400 * 86_400

  /// Reads a line.
  ///
  /// - Parameter now: what `Max-Age` counts from.
  /// - Throws: `CookieRefusal`, if there is no cookie in it, or one that must be ignored.
  package init(_ line: String, now: Date) throws(CookieRefusal) {
    var pieces = line.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)[...]
    let (name, value) = Self.pair(Substring(pieces.removeFirst()), withoutEquals: .value)
    self.name = String(name)
    self.value = String(value)
    guard !line.utf8.contains(where: Self.isForbidden) else {
      throw CookieRefusal(.controlCharacter, name: String(name.prefix(64)))
    }
    guard !name.isEmpty || !value.isEmpty else { throw CookieRefusal(.empty) }
    guard FieldOctets.count(name) + FieldOctets.count(value) <= Self.pairLimit else {
      throw CookieRefusal(.tooLarge, name: String(name.prefix(64)))
    }
    var lifetime = Lifetime()
    for piece in pieces {
      let attribute = Self.pair(Substring(piece), withoutEquals: .name)
      guard FieldOctets.count(attribute.value) <= Self.attributeLimit else { continue }
      take(attribute, &lifetime, now)
    }
    // Max-Age wins over Expires, wherever it stands.
    expires = lifetime.maxAge ?? lifetime.expires
  }

  private struct Lifetime {
    var maxAge: Date?
    var expires: Date?
  }

  /// The last attribute of a name counts.
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
      // An unknown word counts as none said (§5.6.7).
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

  /// The seconds of `Max-Age`: digits, perhaps a minus before them, and nothing else.
  private static func age(_ text: Substring) -> TimeInterval? {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
    guard digits.count == text.utf8.count else { return -1 }
    return digits.reduce(0) { $0 * 10 + TimeInterval($1 - 48) }
  }

  private enum Part { case name, value }

  /// What stands before and behind the first `=`, without white space around it. Where there is none, the whole is the one
  /// part or the other.
  private static func pair(_ text: Substring, withoutEquals part: Part) -> (name: Substring, value: Substring) {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      let all = ASCII.trimmed(text)
      return part == .name ? (all, "") : ("", all)
    }
    return (ASCII.trimmed(text[..<equals]), ASCII.trimmed(text[text.utf8.index(after: equals)...]))
  }

  /// CTL of RFC 5234 without the tab.
  static func isForbidden(_ byte: UInt8) -> Bool { ASCII.isControl(byte) && byte != 9 }
}
