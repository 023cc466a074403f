extension SetCookie {
  /// The cookie that the line makes in answer to a request: all rules of RFC 6265bis §5.7 for which the other cookies do
  /// not matter.
  ///
  /// - Throws: `CookieRefusal`, if the cookie must be ignored.
  package func cookie(
    for request: CookieRequest, in context: CookieContext, publicSuffixes: PublicSuffixes, now: Date
  ) throws(CookieRefusal) -> Cookie {
    let domain = try place(of: request.host, publicSuffixes)
    if let path, !path.utf8.allSatisfy({ $0 < 128 }) { throw CookieRefusal(.nonASCIIPath, name: name) }
    if isSecure, !request.isSecure { throw CookieRefusal(.insecureConnection, name: name) }
    if isHTTPOnly, context.access == .nonHTTP { throw CookieRefusal(.httpOnly, name: name) }
    guard context.permitsWriting(sameSite) else { throw CookieRefusal(.crossSite, name: name) }
    let cookie = Cookie(
      name: name, value: value, domain: domain ?? request.host, isHostOnly: domain == nil,
      path: path.map(String.init) ?? CookiePath.standard(for: request.path), expires: expires, isSecure: isSecure,
      isHTTPOnly: isHTTPOnly, sameSite: sameSite, created: now)
    try cookie.checkPromises(hasPath: path != nil)
    return cookie
  }

  /// The domain whose hosts all get the cookie; nil if the request's host alone does.
  private func place(of host: String, _ publicSuffixes: PublicSuffixes) throws(CookieRefusal) -> String? {
    guard let attribute = domain, !attribute.isEmpty else { return nil }
    guard attribute.utf8.allSatisfy({ $0 < 128 }) else { throw CookieRefusal(.nonASCIIDomain, name: name) }
    let domain = ASCII.lowercased(attribute.utf8.first == UInt8(ascii: ".") ? attribute.dropFirst() : attribute)
    guard !domain.isEmpty else { throw CookieRefusal(.noHost, name: name) }
    if domain == host, CookieHost.isAddress(host) || publicSuffixes.contains(domain) { return nil }
    guard CookieHost.matches(host, domain: domain) else { throw CookieRefusal(.domainMismatch, name: name) }
    guard !publicSuffixes.contains(domain) else { throw CookieRefusal(.publicSuffix, name: name) }
    return domain
  }
}

extension Cookie {
  /// What the name promises, or `SameSite=None` requires, must hold (RFC 6265bis §5.7, and the prefixes that
  /// draft-ietf-httpbis-layered-cookies adds). Case does not matter, because there are servers to which it does not.
  ///
  /// - Parameter hasPath: whether the path was given, and did not come from the request.
  func checkPromises(hasPath: Bool = true) throws(CookieRefusal) {
    if sameSite == .none, !isSecure { throw CookieRefusal(.sameSiteNoneNotSecure, name: name) }
    let isForHost = isSecure && isHostOnly && hasPath && path == "/"
    let isForHTTP = isSecure && isHTTPOnly
    // A nameless cookie is sent as its value alone: it could pass for another one's name.
    guard let prefix = Prefix(of: name.isEmpty ? value : name) else { return }
    let holds =
      switch prefix {
      case .secure: isSecure
      case .host: isForHost
      case .http: isForHTTP
      case .hostHTTP: isForHost && isForHTTP
      }
    guard holds, !name.isEmpty else { throw CookieRefusal(.prefix, name: name) }
  }

  private enum Prefix: String, CaseIterable {
    case hostHTTP = "__host-http-"  // before the prefix of this prefix
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
