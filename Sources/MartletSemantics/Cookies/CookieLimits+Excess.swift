extension CookieLimits {
  /// The cookies that go when there are too many altogether, by site: all that have expired, and as many as it takes of
  /// those that were not used for the longest time.
  package func excess(in sites: [String: [Cookie]], now: Date) -> [String: Set<Cookie.Identity>] {
    var victims: [(site: String, cookie: Cookie)] = []
    var oldest: (site: String, cookie: Cookie)?
    var count = 0
    for (site, cookies) in sites {
      count += cookies.count
      for cookie in cookies {
        if cookie.isExpired(at: now) {
          victims.append((site, cookie))
        } else if oldest.map({ cookie.isLessUsed(than: $0.cookie) }) ?? true {
          oldest = (site, cookie)
        }
      }
    }
    let surplus = count - victims.count - total
    // Nearly always it is one, for which there is no need to sort them all.
    if surplus == 1, let oldest {
      victims.append(oldest)
    } else if surplus > 1 {
      let rest = sites.flatMap { site, cookies in
        cookies.lazy.filter { !$0.isExpired(at: now) }.map { (site: site, cookie: $0) }
      }
      victims += rest.sorted { $0.cookie.isLessUsed(than: $1.cookie) }.prefix(surplus)
    }
    return Dictionary(grouping: victims, by: \.site).mapValues { Set($0.map(\.cookie.identity)) }
  }
}
