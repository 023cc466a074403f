/// The cookies of one site, and what the storage model does to them (RFC 6265bis §5.7 and §5.8.3). Values only: time comes
/// in as an argument, and whoever keeps the list keeps ``cookies``.
package struct CookieList: Sendable {
  /// In no particular order.
  package private(set) var cookies: [Cookie]

  package init(_ cookies: [Cookie] = []) { self.cookies = cookies }

  // MARK: Setting

  /// Takes a cookie as it came over the wire, in place of the one with its identity.
  ///
  /// - Parameters:
  ///   - isSecure: whether the connection was.
  ///   - context: who sets it.
  /// - Throws: `CookieRefusal`, if the cookies that are there forbid it.
  package mutating func receive(
    _ cookie: Cookie, isSecure: Bool, in context: CookieContext, now: Date
  ) throws(CookieRefusal) {
    removeExpired(now)
    if !isSecure, cookies.contains(where: { $0.isHidden(by: cookie) }) {
      throw CookieRefusal(.hidesSecureCookie, name: cookie.name)
    }
    let old = index(of: cookie.identity)
    if let old, context.access == .nonHTTP, cookies[old].isHTTPOnly {
      throw CookieRefusal(.httpOnly, name: cookie.name)
    }
    put(cookie, at: old)
    removeExpired(now)
  }

  /// Puts a cookie in as it is, in place of the one with its identity, whose place in the order it takes.
  package mutating func put(_ cookie: Cookie) { put(cookie, at: index(of: cookie.identity)) }

  private mutating func put(_ cookie: Cookie, at index: Int?) {
    var cookie = cookie
    if let index {
      cookie.created = cookies[index].created
      cookies[index] = cookie
    } else {
      cookie.created = moment(for: cookie.created)
      cookies.append(cookie)
    }
  }

  /// The time itself, or a little later if cookies were made at that time already: those of one response are sent in the
  /// order in which they were set.
  private func moment(for created: Date) -> Date {
    let latest = cookies.lazy.map(\.created).filter { $0 >= created && $0 < created.addingTimeInterval(0.1) }.max()
    return latest?.addingTimeInterval(0.000_001) ?? created
  }

  private func index(of identity: Cookie.Identity) -> Int? {
    cookies.firstIndex { $0.name == identity.name && $0.identity == identity }
  }

  // MARK: Sending

  /// The cookies that go with a request, in the order in which they go: longer paths first, then older cookies first.
  package func cookies(for request: CookieRequest, in context: CookieContext, now: Date) -> [Cookie] {
    var chosen = cookies.filter { cookie in
      (cookie.isHostOnly ? cookie.domain == request.host : CookieHost.matches(request.host, domain: cookie.domain))
        && CookiePath.matches(request.path, cookiePath: cookie.path) && (!cookie.isSecure || request.isSecure)
        && context.permitsReading(cookie) && !cookie.isExpired(at: now)
    }
    guard chosen.count > 1 else { return chosen }
    chosen.sort { left, right in
      let (leftCount, rightCount) = (left.path.utf8.count, right.path.utf8.count)
      return leftCount == rightCount ? left.created < right.created : leftCount > rightCount
    }
    return chosen
  }

  /// The value of a `Cookie` field; nil if there is nothing to send.
  package static func header(_ cookies: [Cookie]) -> String? {
    guard !cookies.isEmpty else { return nil }
    return cookies.lazy.map(\.pair).joined(separator: "; ")
  }

  /// Whether a cookie was changed since a request with this `Cookie` line was sent: whether it would go with the request now,
  /// and the line does not have it as it is.
  package func hasChanged(
    _ identity: Cookie.Identity, since line: String, for request: CookieRequest, in context: CookieContext, now: Date
  ) -> Bool {
    guard let cookie = cookies(for: request, in: context, now: now).first(where: { $0.identity == identity }) else {
      return false
    }
    return !Self.pairs(in: line).contains(cookie.pair)
  }

  /// What a `Cookie` line is made of: `name=value`, or the value alone.
  package static func pairs(in line: String) -> [String] {
    line.split(separator: ";").map { String(ASCII.trimmed($0)) }
  }

  // MARK: Time and room

  /// Notes when cookies were last sent, as far as that is later than what is on record.
  package mutating func touch(_ accesses: [Cookie.Identity: Date]) {
    guard !accesses.isEmpty else { return }
    for index in cookies.indices {
      guard let access = accesses[cookies[index].identity] else { continue }
      cookies[index].lastAccessed = max(cookies[index].lastAccessed, access)
    }
  }

  /// Removes the cookies whose time is over.
  package mutating func removeExpired(_ now: Date) { cookies.removeAll { $0.isExpired(at: now) } }

  /// Removes the cookies that fulfil a condition.
  package mutating func remove(where condition: (Cookie) -> Bool) { cookies.removeAll(where: condition) }

  /// Removes what is too much in one domain: those that are not secure first, then those that were not used for the
  /// longest time.
  package mutating func trim(_ domain: String, to limit: Int) {
    let those = cookies.filter { $0.domain == domain }
    let surplus = those.count - limit
    guard surplus > 0 else { return }
    let goesFirst: (Cookie, Cookie) -> Bool = { left, right in
      left.isSecure == right.isSecure ? left.isLessUsed(than: right) : !left.isSecure
    }
    // Nearly always it is one, for which there is no need to sort them all.
    let first = surplus == 1 ? those.min(by: goesFirst).map { [$0] } ?? [] : those.sorted(by: goesFirst)
    let victims = Set(first.prefix(surplus).map(\.identity))
    remove { $0.domain == domain && victims.contains($0.identity) }
  }
}

extension Cookie {
  /// The cookie's part of a `Cookie` line.
  package var pair: String { name.isEmpty ? value : name + "=" + value }

  /// Whether a new cookie, set over an insecure connection, would be sent before this secure one or in its place.
  fileprivate func isHidden(by cookie: Cookie) -> Bool {
    isSecure && name == cookie.name && CookiePath.matches(cookie.path, cookiePath: path)
      && (CookieHost.matches(domain, domain: cookie.domain) || CookieHost.matches(cookie.domain, domain: domain))
  }

  /// Whether this cookie goes before the other where there is too little room.
  func isLessUsed(than other: Cookie) -> Bool {
    lastAccessed == other.lastAccessed ? created < other.created : lastAccessed < other.lastAccessed
  }
}
