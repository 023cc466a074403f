extension CookieLimits {
  /// The cookies that go when there are too many altogether, by site: all that have expired, and as many as it takes of
  /// those that were not used for the longest time.
  package func excess(in sites: [String: [Cookie]], now: Date) -> [String: Set<Cookie.Identity>] {
    let all = sites.flatMap { site, cookies in cookies.map { (site: site, cookie: $0) } }
    var victims = all.filter { $0.cookie.isExpired(at: now) }
    let count = all.count - victims.count - total
    let rest = victims.isEmpty ? all : all.filter { !$0.cookie.isExpired(at: now) }
    // Nearly always it is one, for which there is no need to sort them all.
    if count == 1 {
      victims += rest.min { $0.cookie.isLessUsed(than: $1.cookie) }.map { [$0] } ?? []
    } else if count > 1 {
      victims += rest.sorted { $0.cookie.isLessUsed(than: $1.cookie) }.prefix(count)
    }
    return Dictionary(grouping: victims, by: \.site).mapValues { Set($0.map(\.cookie.identity)) }
  }
}
