@_spi(Credentials) @_spi(Toolkit) import MartletSemantics

/// The cookies that a jar has sent but not yet recorded in its store: the times, and the last line.
///
/// The times only decide which cookies are removed when there are too many, so they are written with the next change,
/// or once an hour.
struct CookieAccesses {
  /// By ``CookieJar/storeKey(of:)``.
  private var times: [String: [Cookie.Identity: Date]] = [:]
  private var last: SentCookies?
  private static let interval: TimeInterval = 3600

  /// Records that cookies were sent. Returns whether the times should be written now.
  mutating func note(_ cookies: [Cookie], of key: String, at now: Date) -> Bool {
    for cookie in cookies { times[key, default: [:]][cookie.identity] = now }
    return Self.dueDate(of: cookies) < now
  }

  /// Returns when the access times of these cookies have to be written.
  static func dueDate(of cookies: [Cookie]) -> Date {
    cookies.map { $0.lastAccessed.addingTimeInterval(interval) }.min() ?? .distantFuture
  }

  /// Returns the last line if it is valid for this request too. Its cookies then count as sent now.
  mutating func line(for lookup: CookieLookup) -> CookieLine? {
    guard last?.isValid(for: lookup) == true else { return nil }
    last?.sent = lookup.time
    return last?.line
  }

  /// Keeps a line for the next requests.
  mutating func keep(_ line: SentCookies) {
    noteLast()
    last = line
  }

  /// Adds the time of the last line to the times of its cookies.
  private mutating func noteLast() {
    guard let last = last.take() else { return }
    _ = note(last.cookies, of: last.key, at: last.sent)
  }

  /// Removes the times of a site and returns them.
  mutating func take(_ key: String) -> [Cookie.Identity: Date] {
    noteLast()
    return times.removeValue(forKey: key) ?? [:]
  }

  /// Removes the times of cookies that were removed, and of sites without cookies.
  mutating func remove(_ identities: [String: Set<Cookie.Identity>], keeping all: [String: [Cookie]]) {
    noteLast()
    for (key, identities) in identities { times[key] = times[key]?.filter { !identities.contains($0.key) } }
    times = times.filter { all[$0.key] != nil && !$0.value.isEmpty }
  }

  /// Sets the times of cookies.
  mutating func apply(to all: inout [String: [Cookie]]) {
    noteLast()
    for (key, accesses) in times {
      guard let cookies = all[key] else { continue }
      var list = CookieList(cookies)
      list.touch(accesses)
      all[key] = list.cookies
    }
  }

  mutating func removeAll() { self = CookieAccesses() }
}

/// A request whose cookies are looked up, and what its line depends on besides the cookies.
struct CookieLookup {
  let request: HTTPRequest
  let context: Cookie.Context
  /// The partition: ``CookieJar/partitionSuffix``.
  let partitionSuffix: String
  /// The revision of the store.
  let revision: Int
  let time: Date
}

/// What the jar adds to a request.
struct CookieLine: Sendable {
  /// The `Cookie` line; empty if there are no cookies for the request.
  var fields: HTTPFields = [:]
  /// The number of cookies for the request that are not in the line, because it would be too long.
  var omitted = 0
}

/// The `Cookie` line of a request. Most later requests reuse it: those for the same origin and partition, while the
/// cookies are the same and none of them expires.
struct SentCookies {
  /// The cookies of the line; empty if there are none for such requests.
  let cookies: [Cookie]
  let line: CookieLine
  /// The ``CookieJar/storeKey(of:)`` of its site.
  let key: String
  /// When the line was sent last.
  var sent: Date

  private let origin: Origin
  private let partitionSuffix: String
  /// The path of the requests; nil for every path, because all cookies of the host apply to every path.
  private let path: String?
  private let context: Cookie.Context
  /// The revision of the store when its cookies were read.
  private let revision: Int
  /// The period in which these cookies apply.
  private let period: Range<Date>

  /// Makes the line of a request; nil if others cannot use it.
  ///
  /// - Parameters:
  ///   - known: at least all cookies of the host and of the domains above it.
  ///   - chosen: the cookies that are sent.
  init?(_ chosen: [Cookie], of known: [Cookie], at key: String, line: CookieLine, for lookup: CookieLookup) {
    let ends = chosen.reduce(CookieAccesses.dueDate(of: chosen)) { min($0, $1.expires ?? .distantFuture) }
    let request = lookup.request
    guard let origin = request.origin, line.fields.refusal == nil, lookup.time < ends else { return nil }
    self.cookies = chosen
    self.line = line
    self.key = key
    self.origin = origin
    partitionSuffix = lookup.partitionSuffix
    context = lookup.context
    revision = lookup.revision
    sent = lookup.time
    path = known.allSatisfy { $0.path == "/" } ? nil : CookieRequest(request.url, origin: request.origin)?.path
    period = lookup.time..<ends
  }

  func isValid(for lookup: CookieLookup) -> Bool {
    let request = lookup.request
    guard lookup.revision == revision, lookup.partitionSuffix == partitionSuffix, period.contains(lookup.time),
      request.origin == origin,
      lookup.context == context
    else { return false }
    return path == nil || path == CookieRequest(request.url, origin: request.origin)?.path
  }
}
