/// What is known of a request besides its URL, as far as cookies depend on it (RFC 6265bis §5.2 and §5.8.3).
///
/// A program that asks on its own account is no page that somebody else could make ask, so that everything it sends is
/// *same-site*: that is the default. Whoever fetches on behalf of pages, as a browser does, says what is known of them.
///
/// ```swift
/// var request = HTTPRequest(.get, imageOnAnotherSite)
/// request.options.cookieContext.isSameSite = false   // cookies with SameSite=Strict or Lax stay at home
/// ```
public struct CookieContext: Sendable, Hashable {
  /// Who reads or writes the cookies.
  public enum Access: Sendable, Hashable {
    /// An HTTP request.
    case http
    /// A script or another interface: it neither sees nor replaces cookies with `HttpOnly`.
    case nonHTTP
  }

  /// Whether request and page belong to the same site. True by default.
  public var isSameSite: Bool
  /// Whether the request changes what a window shows, so that the user sees where it leads. False by default. Only
  /// matters across sites: such a request may carry `SameSite=Lax` cookies if its method is safe, and set any.
  public var isTopLevelNavigation: Bool
  /// The request's method; GET by default. A session puts that of the request here.
  public var method: HTTPMethod
  /// Who reads or writes; HTTP by default.
  public var access: Access

  /// Makes a context; by default that of a program which asks on its own account.
  public init(
    isSameSite: Bool = true, isTopLevelNavigation: Bool = false, method: HTTPMethod = .get, access: Access = .http
  ) {
    self.isSameSite = isSameSite
    self.isTopLevelNavigation = isTopLevelNavigation
    self.method = method
    self.access = access
  }

  /// Whether a cookie may be sent or seen.
  func permitsReading(_ cookie: Cookie) -> Bool {
    if cookie.isHTTPOnly, access == .nonHTTP { return false }
    guard !isSameSite else { return true }
    return switch cookie.sameSite {
    case .none: true
    case .lax, .unspecified: access == .http && isTopLevelNavigation && method.isSafe
    case .strict: false
    }
  }

  /// Whether a cookie may be set, as far as sites go.
  func permitsWriting(_ sameSite: Cookie.SameSite) -> Bool {
    sameSite == .none || isSameSite || (access == .http && isTopLevelNavigation)
  }
}
