extension Cookie {
  /// The properties of a request, besides its URL, that affect cookies (RFC 6265bis §5.2 and §5.8.3).
  ///
  /// By default, all requests are *same-site*: a program decides itself what it requests, unlike a browser, which sends
  /// requests for other people's pages. Set the properties if you send requests on behalf of web pages.
  ///
  /// ```swift
  /// var request = HTTPRequest(.get, imageOnAnotherSite)
  /// request.options.cookieContext.isSameSite = false   // no cookies with SameSite=Strict or Lax
  /// ```
  public struct Context: Sendable, Hashable {
    /// The interface that reads or writes the cookies.
    public enum Access: Sendable, Hashable {
      /// An HTTP request.
      case http
      /// A script or another interface, which can neither read nor replace `HttpOnly` cookies.
      case nonHTTP
    }

    /// Whether the request and the page that caused it belong to the same site. True by default.
    public var isSameSite: Bool
    /// Whether the request is a top-level navigation, which the user can see. False by default. It only matters for
    /// cross-site requests: such a navigation may carry `SameSite=Lax` cookies if the method is safe, and may set any
    /// cookie.
    public var isTopLevelNavigation: Bool
    /// The method of the request; GET by default. A session sets it to that of the request.
    public var method: HTTPMethod
    /// The interface that reads or writes the cookies; an HTTP request by default.
    public var access: Access

    /// Makes a context; by default that of a same-site HTTP request.
    public init(
      isSameSite: Bool = true, isTopLevelNavigation: Bool = false, method: HTTPMethod = .get, access: Access = .http
    ) {
      self.isSameSite = isSameSite
      self.isTopLevelNavigation = isTopLevelNavigation
      self.method = method
      self.access = access
    }

    /// Whether a cookie may be sent or read.
    func permitsReading(_ cookie: Cookie) -> Bool {
      if cookie.isHTTPOnly, access == .nonHTTP { return false }
      guard !isSameSite else { return true }
      return switch cookie.sameSite {
      case .none: true
      case .lax, .unspecified: access == .http && isTopLevelNavigation && method.isSafe
      case .strict: false
      }
    }

    /// Whether a cookie with this attribute may be set.
    func permitsWriting(_ sameSite: Cookie.SameSite) -> Bool {
      sameSite == .none || isSameSite || (access == .http && isTopLevelNavigation)
    }
  }
}
