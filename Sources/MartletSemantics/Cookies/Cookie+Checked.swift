extension Cookie {
  /// The cookie as a jar takes it from a program's hand: its domain in canonical form, sendable, and true to its name.
  ///
  /// - Throws: `CookieRefusal`.
  package func checked(_ publicSuffixes: PublicSuffixes) throws(CookieRefusal) -> Cookie {
    guard !name.isEmpty || !value.isEmpty else { throw CookieRefusal(.empty) }
    guard ![name, value, path].contains(where: { $0.utf8.contains(where: SetCookie.isForbidden) }) else {
      throw CookieRefusal(.controlCharacter, name: name)
    }
    guard FieldOctets.count(name) + FieldOctets.count(value) <= SetCookie.pairLimit else {
      throw CookieRefusal(.tooLarge, name: String(name.prefix(64)))
    }
    guard isSendable else { throw CookieRefusal(.unsendable, name: name) }
    guard let domain = CookieHost.canonical(domain), domain.utf8.allSatisfy({ $0 > 32 && $0 != 127 }) else {
      throw CookieRefusal(.noHost, name: name)
    }
    var cookie = self
    cookie.domain = domain
    if CookieHost.isAddress(domain) { cookie.isHostOnly = true }
    guard cookie.isHostOnly || !publicSuffixes.contains(domain) else { throw CookieRefusal(.publicSuffix, name: name) }
    try cookie.checkPromises()
    return cookie
  }

  /// Whether a server that reads the `Cookie` line gets name and value as they are.
  private var isSendable: Bool {
    let semicolon = UInt8(ascii: ";")
    return !name.utf8.contains { $0 == semicolon || $0 == UInt8(ascii: "=") } && !value.utf8.contains(semicolon)
      && path.utf8.first == UInt8(ascii: "/") && !path.utf8.contains(semicolon)
      && ASCII.trimmed(name) == name[...] && ASCII.trimmed(value) == value[...]
  }
}
