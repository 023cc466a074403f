/// A stored cookie, with the attributes of RFC 6265bis §5.7.
///
/// Servers set cookies with `Set-Cookie`; a program may create its own, and add them to a cookie jar. The initializer
/// does not validate: the jar does.
///
/// ```swift
/// let cookie = Cookie(name: "session", value: "31d4d96e", domain: "example.com", path: "/", isSecure: true)
/// ```
///
/// Cookies are identified by name, domain, host-only flag and path: a jar has at most one of each identity. The
/// description does not contain the value, because it is often a secret.
public struct Cookie: Sendable, Hashable, Codable {
  /// The name; empty in a nameless cookie (`Set-Cookie: value`).
  public var name: String
  /// The value as it was sent: it is not decoded, and includes quotes.
  public var value: String
  /// The host, or the domain whose hosts receive the cookie: in lower case, with A-labels (`xn--…`), without a leading
  /// dot, an IPv6 address without brackets.
  public var domain: String
  /// Whether only the host ``domain`` receives the cookie, and not its subdomains.
  public var isHostOnly: Bool
  /// The path prefix of requests with the cookie. Begins with `/`.
  public var path: String
  /// When the cookie expires; nil for a session cookie.
  public var expires: Date?
  /// Whether the cookie is sent over secure connections only.
  public var isSecure: Bool
  /// Whether the cookie is hidden from scripts.
  public var isHTTPOnly: Bool
  /// Which cross-site requests carry the cookie.
  public var sameSite: SameSite
  /// When the cookie was first set. Replacing its value does not change it. No two cookies of a site have the same
  /// time, so it determines the order in which they are sent.
  public var created: Date
  /// When the cookie was last sent or set. The least recently used cookies are removed first when a jar is full.
  public var lastAccessed: Date

  /// Makes a cookie.
  ///
  /// - Parameters:
  ///   - name: the name; may be empty if the value is not.
  ///   - value: the value.
  ///   - domain: the host or domain; a leading dot is removed.
  ///   - isHostOnly: whether subdomains do not receive the cookie; true by default.
  ///   - path: the path; `/` by default.
  ///   - expires: when it expires; nil, the default, for a session cookie.
  ///   - isSecure: whether it is sent over secure connections only; false by default.
  ///   - isHTTPOnly: whether it is hidden from scripts; false by default.
  ///   - sameSite: which cross-site requests carry it; unspecified by default.
  ///   - created: when it was set; now by default.
  public init(
    name: String, value: String, domain: String, isHostOnly: Bool = true, path: String = "/", expires: Date? = nil,
    isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .unspecified, created: Date = .now
  ) {
    self.name = name
    self.value = value
    self.domain = domain.hasPrefix(".") ? String(domain.dropFirst()) : domain
    self.isHostOnly = isHostOnly
    self.path = path
    self.expires = expires
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.sameSite = sameSite
    self.created = created
    lastAccessed = created
  }

  /// Whether the cookie is a session cookie: it has no expiry date.
  public var isSession: Bool { expires == nil }

  /// Whether the cookie has expired.
  public func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

  /// The identity of the cookie (RFC 6265bis §5.7).
  public var identity: Identity { Identity(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

  /// The attributes that identify a cookie: a store has at most one cookie of each identity.
  public struct Identity: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The domain.
    public let domain: String
    /// Whether the cookie is host-only.
    public let isHostOnly: Bool
    /// The path.
    public let path: String
  }
}

extension Cookie {
  /// Which cross-site requests carry a cookie (RFC 6265bis §5.6.7).
  public enum SameSite: String, Sendable, Hashable, Codable {
    /// All of them. Such a cookie must be secure.
    case none
    /// Top-level navigations with a safe method.
    case lax
    /// None of them.
    case strict
    /// The attribute is missing or has an unknown value; treated as ``lax``.
    case unspecified
  }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
  /// Only the description.
  public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }

  /// Name, domain, path and flags, without the value.
  public var description: String {
    var text = name.isEmpty ? "(nameless)" : name
    text += "=…; \(isHostOnly ? "host" : "domain") \(domain); path \(path)"
    if let expires { text += "; expires \(HTTPDate.format(expires))" }
    if isSecure { text += "; secure" }
    if isHTTPOnly { text += "; HttpOnly" }
    if sameSite != .unspecified { text += "; SameSite=\(sameSite.rawValue)" }
    return text
  }
}

extension Cookie {
  /// Returns the cookie as a jar stores it, with its domain in canonical form.
  ///
  /// - Throws: `Cookie.Refusal`, if the cookie is invalid or could not be sent.
  @_spi(Toolkit) public func checked(_ publicSuffixes: PublicSuffixes) throws(Cookie.Refusal) -> Cookie {
    guard !name.isEmpty || !value.isEmpty else { throw Cookie.Refusal(.empty) }
    guard ![name, value, path].contains(where: { $0.utf8.contains(where: SetCookie.isForbidden) }) else {
      throw Cookie.Refusal(.controlCharacter, name: name)
    }
    guard FieldOctets.count(name) + FieldOctets.count(value) <= SetCookie.pairLimit else {
      throw Cookie.Refusal(.tooLarge, name: String(name.prefix(64)))
    }
    guard isSendable else { throw Cookie.Refusal(.unsendable, name: name) }
    guard let domain = HostName.canonical(domain), domain.utf8.allSatisfy({ $0 > 32 && $0 != 127 }) else {
      throw Cookie.Refusal(.noHost, name: name)
    }
    var cookie = self
    cookie.domain = domain
    if HostName.isAddress(domain) { cookie.isHostOnly = true }
    guard cookie.isHostOnly || !publicSuffixes.contains(domain) else { throw Cookie.Refusal(.publicSuffix, name: name) }
    try cookie.checkPrefix()
    return cookie
  }

  /// Whether name, value and path can be sent without being changed.
  private var isSendable: Bool {
    let semicolon = UInt8(ascii: ";")
    return !name.utf8.contains { $0 == semicolon || $0 == UInt8(ascii: "=") } && !value.utf8.contains(semicolon)
      && path.utf8.first == UInt8(ascii: "/") && !path.utf8.contains(semicolon)
      && ASCII.trimmed(name) == name[...] && ASCII.trimmed(value) == value[...]
  }
}
