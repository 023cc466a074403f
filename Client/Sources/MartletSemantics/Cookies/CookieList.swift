/// The cookies of one site, and the storage model of RFC 6265bis §5.7 and §5.8.3. A value type: the current time is an
/// argument, and the owner persists ``cookies``.
@_spi(Toolkit) public struct CookieList: Sendable {
  /// The cookies, in no particular order.
  public private(set) var cookies: [Cookie]

  public init(_ cookies: [Cookie] = []) { self.cookies = cookies }

  // MARK: - Setting

  /// Stores the cookies of one response, replaces stored cookies with the same identity, and removes excess cookies of
  /// their domains. The cost is linear in the number of lines, and in that of the site's cookies: a look at the name of
  /// each.
  ///
  /// - Parameters:
  ///   - received: the cookies in order, or the reasons why a line contains none.
  ///   - isSecure: whether the connection was secure.
  ///   - context: the circumstances in which the cookies are set.
  ///   - limit: the maximum number of cookies of a domain.
  ///   - now: the current time.
  /// - Returns: for each of them, the stored cookie, or the reason why none was stored.
  package mutating func receive(
    _ received: [Result<Cookie, Cookie.Refusal>], isSecure: Bool, in context: Cookie.Context, limit: Int, now: Date
  ) -> [Result<Cookie, Cookie.Refusal>] {
    removeExpired(now)
    // Only the cookies of these names matter. Few names are compared faster than hashed.
    let names = received.compactMap { try? $0.get().name }
    let nameSet = names.count > 8 ? Set(names) : []
    let isNamed = { (name: String) in nameSet.isEmpty ? names.contains(name) : nameSet.contains(name) }
    let named = cookies.indices.filter { isNamed(cookies[$0].name) }
    var positions: [Cookie.Identity: Int] = [:]
    for position in named { positions[cookies[position].identity] = position }
    // Only secure cookies can be hidden. An insecure connection adds none, so it is enough to look at those stored
    // before.
    let secure = isSecure ? [:] : Dictionary(grouping: named.map { cookies[$0] }.filter(\.isSecure), by: \.name)
    var latest = creationTime(for: now)
    let outcomes = received.map { result in
      result.flatMap { cookie -> Result<Cookie, Cookie.Refusal> in
        if secure[cookie.name]?.contains(where: { $0.isHidden(by: cookie) }) == true {
          return .failure(Cookie.Refusal(.hidesSecureCookie, name: cookie.name))
        }
        let position = positions[cookie.identity]
        let old = position.map { cookies[$0] }.flatMap { $0.isExpired(at: now) ? nil : $0 }
        if context.access == .nonHTTP, old?.isHTTPOnly == true {
          return .failure(Cookie.Refusal(.httpOnly, name: cookie.name))
        }
        positions[cookie.identity] = position ?? cookies.count
        set(cookie, at: position, created: old?.created ?? latest)
        if old == nil { latest += Self.tick }
        return result
      }
    }
    removeExpired(now)
    for domain in Set(received.compactMap { try? $0.get().domain }) { trim(domain, to: limit) }
    return outcomes
  }

  private mutating func set(_ cookie: Cookie, at position: Int?, created: Date) {
    var cookie = cookie
    cookie.created = created
    if let position { cookies[position] = cookie } else { cookies.append(cookie) }
  }

  /// Adds a cookie unchanged, or replaces the one with its identity, keeping the creation time.
  public mutating func put(_ cookie: Cookie) {
    let position = index(of: cookie.identity)
    set(cookie, at: position, created: position.map { cookies[$0].created } ?? creationTime(for: cookie.created))
  }

  /// Returns the time, or a slightly later one if another cookie has it: the cookies of one response are then sent in
  /// the order in which they were set.
  private func creationTime(for created: Date) -> Date {
    let latest = cookies.lazy.map(\.created).filter { $0 >= created && $0 < created.addingTimeInterval(0.1) }.max()
    return latest?.addingTimeInterval(Self.tick) ?? created
  }

  /// The difference in seconds between the creation times of cookies of one response.
  private static let tick = 0.000_001

  private func index(of identity: Cookie.Identity) -> Int? {
    cookies.firstIndex { $0.name == identity.name && $0.identity == identity }
  }

  // MARK: - Sending

  /// Returns the cookies that are sent with a request, in their order and within the limits.
  public func cookies(for request: CookieRequest, in context: Cookie.Context, now: Date) -> [Cookie] {
    Self.limited(matches(for: request, in: context, now: now))
  }

  /// Returns the cookies that match a request, in the order of RFC 6265bis §5.8.3: longer paths first, then older
  /// cookies first.
  package func matches(for request: CookieRequest, in context: Cookie.Context, now: Date) -> [Cookie] {
    var chosen = cookies.filter { cookie in
      (cookie.isHostOnly ? cookie.domain == request.host : HostName.matches(request.host, domain: cookie.domain))
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

  /// Returns the first cookies that servers accept together: at most 150, in a `Cookie` line of at most 8,190 bytes,
  /// which are the limits of curl. Most servers answer 400 or 431 to a longer line, and would do so as long as the jar
  /// has the cookies. A cookie that does not fit is left out, and later ones may still fit.
  package static func limited(_ cookies: [Cookie]) -> [Cookie] {
    // No separator follows the last one.
    var room = lineLimit - "Cookie: ".utf8.count + "; ".utf8.count
    let isShort = cookies.count <= countLimit && cookies.reduce(0) { $0 + $1.lineLength } <= room
    if isShort { return cookies }
    var sent: [Cookie] = []
    for cookie in cookies where sent.count < countLimit && cookie.lineLength <= room {
      sent.append(cookie)
      room -= cookie.lineLength
    }
    return sent
  }

  /// The maximum number of cookies of one request.
  package static let countLimit = 150
  /// The maximum number of bytes of a `Cookie` line with its name.
  package static let lineLimit = 8190
  /// The maximum number of `Set-Cookie` lines of one response, as in curl.
  package static let receivedLimit = 50

  /// Returns the value of the `Cookie` field; nil if there are no cookies.
  package static func header(_ cookies: [Cookie]) -> String? {
    guard !cookies.isEmpty else { return nil }
    return cookies.lazy.map(\.pair).joined(separator: "; ")
  }

  /// Returns the `Cookie` field; empty if there are no cookies. It has a refusal if a cookie contains a control
  /// character.
  package static func line(_ cookies: [Cookie]) -> HTTPFields { header(cookies).map { [.cookie: $0] } ?? [:] }

  /// Returns the parts of a `Cookie` line: `name=value`, or only the value.
  public static func pairs(in line: String) -> [String] {
    line.split(separator: ";").map { String(ASCII.trimmed($0)) }
  }

  // MARK: - Expiry and limits

  /// Updates the times of last access, if the new ones are later.
  package mutating func touch(_ accesses: [Cookie.Identity: Date]) {
    guard !accesses.isEmpty else { return }
    for index in cookies.indices {
      guard let access = accesses[cookies[index].identity] else { continue }
      cookies[index].lastAccessed = max(cookies[index].lastAccessed, access)
    }
  }

  /// Removes expired cookies.
  public mutating func removeExpired(_ now: Date) { cookies.removeAll { $0.isExpired(at: now) } }

  /// Removes the cookies that satisfy the condition.
  package mutating func remove(where condition: (Cookie) -> Bool) { cookies.removeAll(where: condition) }

  /// Removes the excess cookies of a domain: insecure ones first, then the least recently used.
  public mutating func trim(_ domain: String, to limit: Int) {
    let surplus = cookies.count { $0.domain == domain } - limit
    guard surplus > 0 else { return }
    let those = cookies.filter { $0.domain == domain }
    let isRemovedFirst: (Cookie, Cookie) -> Bool = { left, right in
      left.isSecure == right.isSecure ? left.isLessUsed(than: right) : !left.isSecure
    }
    // Usually there is one, so that sorting is not necessary.
    let first = surplus == 1 ? those.min(by: isRemovedFirst).map { [$0] } ?? [] : those.sorted(by: isRemovedFirst)
    let removed = Set(first.prefix(surplus).map(\.identity))
    remove { $0.domain == domain && removed.contains($0.identity) }
  }
}

extension Cookie {
  /// The cookie in a `Cookie` line.
  package var pair: String { name.isEmpty ? value : name + "=" + value }

  /// The number of bytes of the pair and of the separator that follows it in a line.
  fileprivate var lineLength: Int { value.utf8.count + (name.isEmpty ? 0 : name.utf8.count + 1) + "; ".utf8.count }

  /// Whether a new cookie, set over an insecure connection, would be sent before this secure one or instead of it.
  fileprivate func isHidden(by cookie: Cookie) -> Bool {
    isSecure && name == cookie.name && CookiePath.matches(cookie.path, cookiePath: path)
      && (HostName.matches(domain, domain: cookie.domain) || HostName.matches(cookie.domain, domain: domain))
  }

  /// Whether this cookie was used less recently, and is therefore removed first.
  func isLessUsed(than other: Cookie) -> Bool {
    lastAccessed == other.lastAccessed ? created < other.created : lastAccessed < other.lastAccessed
  }
}

extension Cookie {
  /// The maximum number of cookies in a jar (RFC 6265bis §6.1). The minimum of each is 1; a smaller number counts as 1.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of cookies of one domain: 180 by default, as in browsers. The standard requires at least 50.
    public var perDomain: Int { didSet { perDomain = max(1, perDomain) } }
    /// The maximum number of all cookies, in all partitions: 3300 by default. When there are more, an eleventh of them
    /// is removed at once, as in Chrome: 3000 are left, which is the minimum that the standard requires of a user
    /// agent. A service with many users in one jar needs more.
    public var total: Int { didSet { total = max(1, total) } }

    /// Makes limits.
    public init(perDomain: Int = 180, total: Int = 3300) {
      self.perDomain = max(1, perDomain)
      self.total = max(1, total)
    }
  }
}

extension Cookie.Limits {
  /// Returns the cookies to remove if there are too many, by site: all that have expired, and then the least recently
  /// used. An eleventh is removed at once, because finding them takes a look at all.
  package func excess(in sites: [String: [Cookie]], now: Date) -> [String: Set<Cookie.Identity>] {
    var (removed, rest): ([(site: String, cookie: Cookie)], [(site: String, cookie: Cookie)]) = ([], [])
    for (site, cookies) in sites {
      for cookie in cookies {
        if cookie.isExpired(at: now) { removed.append((site, cookie)) } else { rest.append((site, cookie)) }
      }
    }
    if rest.count > total {
      rest.sort { $0.cookie.isLessUsed(than: $1.cookie) }
      removed += rest.prefix(rest.count - total + total / 11)
    }
    return Dictionary(grouping: removed, by: \.site).mapValues { Set($0.map(\.cookie.identity)) }
  }
}
