public import MartletSemantics

extension CookieJar {
  /// Whether two URLs belong to the same site (RFC 6265bis §5.2): both secure or neither, and hosts with the same
  /// registrable domain. URLs without a host belong to none.
  ///
  /// For whoever fetches on behalf of pages:
  ///
  /// ```swift
  /// request.options.cookieContext.isSameSite = jar.isSameSite(request.url, as: page)
  /// ```
  public func isSameSite(_ url: URL, as other: URL) -> Bool {
    guard let one = CookieRequest(url), let two = CookieRequest(other), one.isSecure == two.isSecure else {
      return false
    }
    return site(of: one.host) == site(of: two.host)
  }
}
