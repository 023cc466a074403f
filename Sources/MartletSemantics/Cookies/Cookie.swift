/// A cookie as it is stored: what RFC 6265bis §5.7 calls its fields.
///
/// Servers make cookies with `Set-Cookie`; a program may make its own, and put it into a jar. The initializer checks
/// nothing: the jar does.
///
/// ```swift
/// let cookie = Cookie(name: "session", value: "31d4d96e", domain: "example.com", path: "/", isSecure: true)
/// ```
///
/// A cookie is told from another by name, domain, host-only flag and path: a jar holds one of each at most.
/// The value is a secret more often than not, so a cookie's description leaves it out.
public struct Cookie: Sendable, Hashable, Codable {
  /// The name; empty in a nameless cookie (`Set-Cookie: value`).
  public var name: String
  /// The value, as it was sent: nothing is decoded, and quotes belong to it.
  public var value: String
  /// The host, or the domain whose hosts all get the cookie: in lower case, with A-labels (`xn--…`), without a leading
  /// dot, an IPv6 address without brackets.
  public var domain: String
  /// Whether only ``domain`` itself gets the cookie. If not, so do all hosts below it.
  public var isHostOnly: Bool
  /// The path at which, and below which, the cookie is sent. Begins with `/`.
  public var path: String
  /// When the cookie ends; nil for a session cookie, which ends with the session.
  public var expires: Date?
  /// Whether the cookie is for secure connections alone.
  public var isSecure: Bool
  /// Whether the cookie is for HTTP alone, and hidden from scripts.
  public var isHTTPOnly: Bool
  /// Which requests that come from other sites carry the cookie.
  public var sameSite: SameSite
  /// When the cookie was first made. Replacing its value does not change it. No two cookies of one site share it, so
  /// that it alone gives the order in which cookies are sent.
  public var created: Date
  /// When the cookie was last sent or set; those that were not used for the longest time are the first to go when a jar is
  /// full.
  public var lastAccessed: Date

  /// Makes a cookie.
  ///
  /// - Parameters:
  ///   - name: the name; may be empty if the value is not.
  ///   - value: the value.
  ///   - domain: the host or domain; a leading dot is dropped.
  ///   - isHostOnly: whether hosts below the domain do not get the cookie; true by default.
  ///   - path: the path; `/` by default.
  ///   - expires: the end; nil, the default, makes a session cookie.
  ///   - isSecure: whether it is for secure connections alone; false by default.
  ///   - isHTTPOnly: whether it is hidden from scripts; false by default.
  ///   - sameSite: which cross-site requests carry it; unspecified by default.
  ///   - created: the present by default.
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

  /// Whether the cookie ends with the session: whether it has no date of its own.
  public var isSession: Bool { expires == nil }

  /// Whether the cookie's time is over.
  public func isExpired(at now: Date) -> Bool { expires.map { $0 <= now } ?? false }

  /// What tells a cookie from another (RFC 6265bis §5.7).
  public var identity: Identity { Identity(name: name, domain: domain, isHostOnly: isHostOnly, path: path) }

  /// What tells a cookie from another: a store holds one cookie of each identity at most.
  public struct Identity: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The domain.
    public let domain: String
    /// Whether the domain is one host.
    public let isHostOnly: Bool
    /// The path.
    public let path: String
  }
}

extension Cookie {
  /// Which requests that come from other sites carry a cookie (RFC 6265bis §5.6.7).
  public enum SameSite: String, Sendable, Hashable, Codable {
    /// All. Such a cookie has to be secure.
    case none
    /// Navigations with a safe method.
    case lax
    /// None.
    case strict
    /// The server did not say, or said something unknown: as ``lax``.
    case unspecified
  }
}

extension Cookie: CustomStringConvertible {
  /// Name, place and flags; never the value.
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
