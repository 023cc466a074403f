import MartletSemantics

/// When cookies were last sent, as far as the store does not know it yet. Only what is to be evicted depends on it, so
/// that it is written along with the next change, and by itself once an hour at most: reading costs no write.
struct CookieAccesses {
  private var sites: [String: [Cookie.Identity: Date]] = [:]
  private static let interval: TimeInterval = 3600

  /// Notes that cookies were sent. Returns whether it is time to write.
  mutating func note(_ cookies: [Cookie], in site: String, at now: Date) -> Bool {
    var isDue = false
    for cookie in cookies {
      sites[site, default: [:]][cookie.identity] = now
      isDue = isDue || now.timeIntervalSince(cookie.lastAccessed) > Self.interval
    }
    return isDue
  }

  /// What was noted of a site, which is forgotten here.
  mutating func take(_ site: String) -> [Cookie.Identity: Date] { sites.removeValue(forKey: site) ?? [:] }

  /// Forgets cookies that are no more, and sites that have none.
  mutating func remove(_ identities: [String: Set<Cookie.Identity>], keeping all: [String: [Cookie]]) {
    for (site, identities) in identities { sites[site] = sites[site]?.filter { !identities.contains($0.key) } }
    sites = sites.filter { all[$0.key] != nil && !$0.value.isEmpty }
  }

  /// Brings cookies up to date.
  func apply(to all: inout [String: [Cookie]]) {
    for (site, accesses) in sites {
      guard let cookies = all[site] else { continue }
      var list = CookieList(cookies)
      list.touch(accesses)
      all[site] = list.cookies
    }
  }

  mutating func removeAll() { sites = [:] }
}
