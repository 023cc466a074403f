/// The cookies of one site, and what the storage model does to them (RFC 6265bis §5.7 and §5.8.3). Values only: time comes
/// in as an argument, and whoever keeps the list keeps ``cookies``.
package struct CookieList: Sendable {
  /// In no particular order.
  package private(set) var cookies: [Cookie]

  package init(_ cookies: [Cookie] = []) { self.cookies = cookies }

  // MARK: Setting

  /// Takes the cookies of one response, each in place of the one with its identity, and makes room in their domains. What
  /// this costs grows with the number of lines, however many there are.
  ///
  /// - Parameters:
  ///   - received: the cookies in their order, or why a line made none.
  ///   - isSecure: whether the connection was.
  ///   - context: who sets them.
  ///   - limit: how many cookies a domain may have.
  /// - Returns: what was refused, in the order of the lines.
  package mutating func receive(
    _ received: [Result<Cookie, CookieRefusal>], isSecure: Bool, in context: CookieContext, limit: Int, now: Date
  ) -> [CookieRefusal] {
    removeExpired(now)
    var places: [Cookie.Identity: Int] = [:]
    for (place, cookie) in cookies.enumerated() { places[cookie.identity] = place }
    // Over an insecure connection none are added: these are all that can be hidden.
    let secure = isSecure ? [:] : Dictionary(grouping: cookies.filter(\.isSecure), by: \.name)
    var latest = moment(for: now)
    var refusals: [CookieRefusal] = []
    for result in received {
      do throws(CookieRefusal) {
        let cookie = try result.get()
        if secure[cookie.name]?.contains(where: { $0.isHidden(by: cookie) }) == true {
          throw CookieRefusal(.hidesSecureCookie, name: cookie.name)
        }
        let place = places[cookie.identity]
        let old = place.map { cookies[$0] }.flatMap { $0.isExpired(at: now) ? nil : $0 }
        if context.access == .nonHTTP, old?.isHTTPOnly == true { throw CookieRefusal(.httpOnly, name: cookie.name) }
        places[cookie.identity] = place ?? cookies.count
        set(cookie, at: place, created: old?.created ?? latest)
        if old == nil { latest += Self.tick }
      } catch { refusals.append(error) }
    }
    removeExpired(now)
    for domain in Set(received.compactMap { try? $0.get().domain }) { trim(domain, to: limit) }
    return refusals
  }

  private mutating func set(_ cookie: Cookie, at place: Int?, created: Date) {
    var cookie = cookie
    cookie.created = created
    if let place { cookies[place] = cookie } else { cookies.append(cookie) }
  }

  /// Puts a cookie in as it is, in place of the one with its identity, whose place in the order it takes.
  package mutating func put(_ cookie: Cookie) {
    let place = index(of: cookie.identity)
    set(cookie, at: place, created: place.map { cookies[$0].created } ?? moment(for: cookie.created))
  }

  /// The time itself, or a little later if cookies were made at that time already: those of one response are sent in the
  /// order in which they were set.
  private func moment(for created: Date) -> Date {
    let latest = cookies.lazy.map(\.created).filter { $0 >= created && $0 < created.addingTimeInterval(0.1) }.max()
    return latest?.addingTimeInterval(Self.tick) ?? created
  }

  /// By how many seconds the times of cookies of one response differ.
  private static let tick = 0.000_001

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
