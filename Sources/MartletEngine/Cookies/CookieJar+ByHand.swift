public import MartletSemantics
import Synchronization

extension CookieJar {
  /// Puts a cookie in, in place of the one with the same name, domain, host-only flag and path.
  ///
  /// What a server must not do, a program may: there is no request that the cookie would have to fit. One that could never
  /// be sent, or not as what its name promises, is refused. One whose time is over removes the one in whose place it comes.
  ///
  /// - Throws: ``CookieRefusal``, or what the store throws.
  public func set(_ cookie: Cookie) async throws {
    let cookie = try cookie.checked(publicSuffixes)
    let moment = now()
    try await change(site(of: cookie.domain)) { list, limits in
      list.put(cookie)
      list.removeExpired(moment)
      list.trim(cookie.domain, to: limits.perDomain)
    }
  }

  /// Removes the cookie that has the same name, domain, host-only flag and path as this one; its value does not matter.
  public func remove(_ cookie: Cookie) async throws {
    guard let domain = CookieHost.canonical(cookie.domain) else { return }
    var cookie = cookie
    cookie.domain = domain
    let identity = cookie.identity
    try await change(site(of: domain)) { list, _ in list.remove { $0.identity == identity } }
  }

  /// All cookies whose time is not over, in the order in which they were made.
  public func allCookies() async throws -> [Cookie] {
    let moment = now()
    var all = try await backing.allCookies()
    accesses.withLock { $0.apply(to: &all) }
    return all.values.joined().filter { !$0.isExpired(at: moment) }.sorted {
      $0.created == $1.created ? $0.domain < $1.domain : $0.created < $1.created
    }
  }

  /// Removes the cookies of a domain and of all hosts below it.
  public func removeCookies(inDomain domain: String) async throws {
    guard let domain = CookieHost.canonical(domain.hasPrefix(".") ? domain.dropFirst() : domain[...]) else { return }
    try await removeCookies { CookieHost.matches($0.domain, domain: domain) }
  }

  /// Removes the session cookies, as at the end of a session.
  public func removeSessionCookies() async throws {
    try await removeCookies { $0.isSession }
  }

  /// Removes everything.
  public func removeAll() async throws {
    accesses.withLock { $0.removeAll() }
    try await backing.removeAll()
  }

  /// Removes the cookies that fulfil a condition, site by site.
  public func removeCookies(where condition: @escaping @Sendable (Cookie) -> Bool) async throws {
    for (site, cookies) in try await backing.allCookies() where cookies.contains(where: condition) {
      try await change(site) { list, _ in list.remove(where: condition) }
    }
  }
}
