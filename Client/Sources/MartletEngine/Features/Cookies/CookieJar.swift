@_spi(Credentials) @_spi(Toolkit) public import MartletSemantics
import Synchronization

/// Stores cookies and adds them to requests (RFC 6265bis).
///
/// A session has a jar by default (``SessionConfiguration/cookies``); sessions with the same configuration share it.
/// You can also use a jar without a session:
///
/// ```swift
/// let jar = CookieJar()
/// try await jar.store(setCookie: ["id=1; Path=/; Secure"], for: url)
/// try await jar.cookieHeader(for: url)   // "id=1"
/// ```
///
/// A session that sends requests of several users names the user in ``RequestOptions/partition``. Each partition has
/// its own cookies, and ``partition(_:)`` returns the jar that holds them. Requests without a partition use the jar
/// itself.
///
/// The cookies are in a ``CookieStore``, in memory by default. These methods throw the store's errors, but an error
/// does not fail a request: an ``Event/note(_:)`` reports it.
///
/// The jar follows draft 22 of RFC 6265bis and the newest draft of its successor, *layered cookies*. Only https counts
/// as secure. A cookie that is paired with a CSRF token is not replaced by a response that belongs to another server
/// session: see ``MartletSignIn/CSRFInterceptor``. A request gets at most 150 cookies, in a line of at most 8,190
/// bytes, because servers refuse more. Longer paths come first, then older cookies. Cookies that do not fit are left
/// out, and an ``Event/note(_:)`` counts them. A response sets at most 50. `Set-Cookie` in informational responses and
/// in trailers is ignored, which the RFC allows.
public final class CookieJar: Sendable {
  let backing: any CookieStore
  private let immediate: (any ImmediateCookieStore)?
  let shared: (any SharedCookieStore)?
  /// The domains under which anyone can register names: cookies cannot be set for them.
  public let publicSuffixes: PublicSuffixes
  /// The maximum numbers of cookies.
  public let limits: Cookie.Limits
  let now: @Sendable () -> Date
  let memory: CookieMemory
  /// Set by ``removeAll()`` of the jar without a partition.
  @_spi(Stores) public var signOut: SignOutMark { memory.signOut }
  /// The suffix of a site's name in the store: a slash and a fingerprint of the partition's name, which may name a
  /// person. Empty for the jar itself: the name of a site has no slash.
  let partitionSuffix: String

  /// Makes a jar.
  ///
  /// - Parameters:
  ///   - store: where the cookies are stored; by default in memory, and not shared with other jars.
  ///   - publicSuffixes: the domains for which cookies are refused; by default the list of the system.
  ///   - limits: the maximum numbers of cookies; by default 180 of a domain and 3300 in total, in all partitions.
  ///   - now: returns the current time; by default that of the system.
  public init(
    store: any CookieStore = MemoryCookieStore(), publicSuffixes: PublicSuffixes = .system,
    limits: Cookie.Limits = .init(), now: @escaping @Sendable () -> Date = { .now }
  ) {
    backing = store
    immediate = store as? any ImmediateCookieStore
    shared = store as? any SharedCookieStore
    self.publicSuffixes = publicSuffixes
    self.limits = limits
    self.now = now
    memory = CookieMemory(pairLimit: limits.total)
    partitionSuffix = ""
  }

  private init(_ jar: CookieJar, partitionSuffix: String) {
    (backing, immediate, shared, publicSuffixes) = (jar.backing, jar.immediate, jar.shared, jar.publicSuffixes)
    (limits, now, memory) = (jar.limits, jar.now, jar.memory)
    self.partitionSuffix = partitionSuffix
  }

  /// Returns the jar of a partition: the cookies of the requests whose ``RequestOptions/partition`` has this name. They
  /// are in the same store, and in no other partition's jar.
  ///
  /// ```swift
  /// try await jar.partition("anna").cookieHeader(for: url)
  /// try await jar.removePartition("anna")   // when Anna signs out
  /// ```
  ///
  /// - Parameter name: the name; an empty one means the jar without a partition.
  public func partition(_ name: String) -> CookieJar { CookieJar(self, partitionSuffix: memory.suffix(of: name)) }

  // MARK: - Responses

  /// Stores the cookies of a response.
  ///
  /// - Parameters:
  ///   - lines: the values of its `Set-Cookie` fields, in order.
  ///   - url: the URL of the request.
  ///   - context: other information about the request.
  /// - Returns: the refused cookies, with the reasons; usually empty. A refusal is not an error.
  /// - Throws: the error of the store.
  @discardableResult
  public func store(
    setCookie lines: [String], for url: URL, in context: Cookie.Context = .init()
  ) async throws -> [Cookie.Refusal] {
    try await store(lines, for: url, in: context) { _, _ in { _ in false } }.compactMap(\.refusal)
  }

  /// Stores cookies, except cookies that belong to another server session than the cookies in the list. Returns the
  /// stored cookie for each line, or the reason why none was stored.
  ///
  /// - Parameters:
  ///   - seen: the sign-outs of all processes before the request; nil if they are not known.
  ///   - foreign: gets the list, and whether there was another sign-out since.
  func store(
    _ lines: [String], for url: URL, in context: Cookie.Context, after seen: SharedSignOuts? = nil,
    except foreign: @escaping @Sendable (CookieList, Bool) -> (Cookie) -> Bool
  ) async throws -> [Result<Cookie, Cookie.Refusal>] {
    guard !lines.isEmpty else { return [] }
    guard let request = CookieRequest(url) else { return lines.map { _ in .failure(Cookie.Refusal(.noHost)) } }
    let moment = now()
    let outcomes = read(lines, for: request, in: context, now: moment)
    guard outcomes.contains(where: { $0.refusal == nil }) else { return outcomes }
    return try await change(storeKey(of: request.host), after: seen) { list, limits, hasSignedOut in
      let isForeign = foreign(list, hasSignedOut)
      let own = outcomes.map { outcome in
        outcome.flatMap { cookie in
          isForeign(cookie) ? .failure(Cookie.Refusal(.otherSession, name: cookie.name)) : outcome
        }
      }
      return list.receive(own, isSecure: request.isSecure, in: context, limit: limits.perDomain, now: moment)
    }
  }

  /// Stores the cookies of a response, from the fields of its ``HTTPResponse/networkHead``.
  @discardableResult
  public func store(
    from fields: HTTPFields, for url: URL, in context: Cookie.Context = .init()
  ) async throws -> [Cookie.Refusal] {
    try await store(setCookie: fields[values: .setCookie], for: url, in: context)
  }

  /// Returns the cookies of `Set-Cookie` lines, regardless of those in the jar.
  func read(
    _ lines: [String], for request: CookieRequest, in context: Cookie.Context, now moment: Date
  ) -> [Result<Cookie, Cookie.Refusal>] {
    lines.enumerated().map { number, line in
      Result { () throws(Cookie.Refusal) in
        guard number < CookieList.receivedLimit else { throw Cookie.Refusal(.tooMany) }
        return try SetCookie(line, now: moment).cookie(
          for: request, in: context, publicSuffixes: publicSuffixes, now: moment)
      }
    }
  }

  // MARK: - Requests

  /// Whether the store never waits.
  var endsAtDeadline: Bool { Deadline.isKept(by: backing) }

  /// Returns the cookies that are sent with a request to the URL, in their order.
  public func cookies(for url: URL, in context: Cookie.Context = .init()) async throws -> [Cookie] {
    guard try await backing.count() > 0, let request = CookieRequest(url) else { return [] }
    return try await awaited(for: request, in: context).sent
  }

  /// Returns the cookies for a request, after writing their times of access if that is due.
  private func awaited(for request: CookieRequest, in context: Cookie.Context) async throws -> Chosen {
    let key = storeKey(of: request.host)
    // The count of the cookies was a look at them.
    let known = immediate?.immediateCookies(in: key, for: request.host)
    let cookies = if let known { known } else { try await backing.cookies(in: key) }
    let chosen = chosen(among: cookies, of: key, for: request, in: context, at: now())
    if chosen.isDue { try? await change(key) { _, _ in } }  // A failure does not change what is sent.
    return chosen
  }

  /// Returns the `Cookie` line for a request, empty if there are no cookies for it.
  func line(for request: HTTPRequest, in context: Cookie.Context) async throws -> CookieLine {
    guard try await backing.count() > 0, let target = CookieRequest(request.url) else { return CookieLine() }
    return try await awaited(for: target, in: context).line
  }

  /// Returns the `Cookie` line for a request; nil if it has to be awaited.
  func immediateLine(for request: HTTPRequest, in context: Cookie.Context) -> CookieLine? {
    guard let immediate else { return nil }
    let revision: Int
    switch immediate.revision {
    case .empty: return CookieLine()
    case .number(let number): revision = number
    case .unknown: return nil
    }
    let lookup = CookieLookup(
      request: request, context: context, partitionSuffix: partitionSuffix, revision: revision, time: now())
    if let known = memory.accesses.withLock({ $0.line(for: lookup) }) { return known }
    guard let target = CookieRequest(request.url, origin: request.origin) else { return CookieLine() }
    let key = storeKey(of: target.host)
    let cookies = immediate.immediateCookies(in: key, for: target.host)
    let chosen = chosen(among: cookies, of: key, for: target, in: context, at: lookup.time)
    guard !chosen.isDue else { return nil }
    let line = chosen.line
    let sent = SentCookies(chosen.sent, of: cookies, at: key, line: line, for: lookup)
    if let sent { memory.accesses.withLock { $0.keep(sent) } }
    return line
  }

  /// The cookies for a request.
  private struct Chosen {
    /// The cookies that are sent.
    var sent: [Cookie] = []
    /// The number of cookies that exceed the limits of a request.
    var omitted = 0
    /// Whether the times of access are due to be written.
    var isDue = false

    var line: CookieLine { CookieLine(fields: CookieList.line(sent), omitted: omitted) }
  }

  private func chosen(
    among cookies: [Cookie], of key: String, for request: CookieRequest, in context: Cookie.Context, at moment: Date
  ) -> Chosen {
    let matches = CookieList(cookies).matches(for: request, in: context, now: moment)
    guard !matches.isEmpty else { return Chosen() }
    let sent = CookieList.limited(matches)
    let isDue = memory.accesses.withLock { $0.note(sent, of: key, at: moment) }
    return Chosen(sent: sent, omitted: matches.count - sent.count, isDue: isDue)
  }

  /// Returns the value of the `Cookie` field for a request to the URL; nil if there are no cookies for it.
  public func cookieHeader(for url: URL, in context: Cookie.Context = .init()) async throws -> String? {
    CookieList.header(try await cookies(for: url, in: context))
  }

  // MARK: - Sites

  /// Returns whether two URLs belong to the same site (RFC 6265bis §5.2): both or neither are secure, and their hosts
  /// have the same registrable domain. A URL without a host belongs to no site.
  ///
  /// A program that loads the resources of pages needs it:
  ///
  /// ```swift
  /// request.options.cookieContext.isSameSite = jar.isSameSite(request.url, as: page)
  /// ```
  public func isSameSite(_ url: URL, as other: URL) -> Bool {
    guard let one = CookieRequest(url), let two = CookieRequest(other), one.isSecure == two.isSecure else {
      return false
    }
    return site(of: one.host) == site(of: two.host)
  }

  /// Returns the site of a host: its registrable domain, or the host itself if it has none. A ``CookieStore`` gets the
  /// cookies of the host under this name. Every request needs it, so results are kept.
  public func site(of host: String) -> String {
    memory.sites.value(for: host) { publicSuffixes.site(of: host) }
  }

  /// Returns the name under which the store keeps the cookies of a host's site in this partition.
  func storeKey(of host: String) -> String {
    partitionSuffix.isEmpty ? site(of: host) : site(of: host) + partitionSuffix
  }

  /// Whether a site's name in the store belongs to this partition.
  func isOwn(_ storeKey: String) -> Bool {
    partitionSuffix.isEmpty ? !storeKey.contains("/") : storeKey.hasSuffix(partitionSuffix)
  }

  // MARK: - The store

  /// Changes the cookies of a site, after updating their times of access, and removes cookies if there are too many.
  @discardableResult
  func change<Value: Sendable>(
    _ storeKey: String, _ body: @escaping @Sendable (inout CookieList, Cookie.Limits) -> Value
  ) async throws -> Value {
    try await change(storeKey, after: nil) { list, limits, _ in body(&list, limits) }
  }

  /// - Parameter seen: the sign-outs of all processes before; the closure learns whether there was another one since.
  private func change<Value: Sendable>(
    _ storeKey: String, after seen: SharedSignOuts?,
    _ body: @escaping @Sendable (inout CookieList, Cookie.Limits, Bool) -> Value
  ) async throws -> Value {
    let accesses = memory.accesses.withLock { $0.take(storeKey) }
    let work: @Sendable (inout [Cookie], Bool) -> (Value, grew: Bool) = { [limits] cookies, hasSignedOut in
      let before = cookies.count
      var list = CookieList(cookies)
      list.touch(accesses)
      let value = body(&list, limits, hasSignedOut)
      cookies = list.cookies
      return (value, cookies.count > before)
    }
    let (value, grew) =
      if let shared, let seen {
        try await shared.update(storeKey, in: group) { work(&$0, $1 != seen) }
      } else {
        try await backing.update(storeKey) { work(&$0, false) }
      }
    if grew { try await makeRoom() }
    return value
  }

  /// Removes cookies above the limit for all sites and partitions: expired ones first, then the least recently used.
  private func makeRoom() async throws {
    guard try await backing.count() > limits.total else { return }
    let moment = now()
    var all = try await backing.allCookies()
    memory.accesses.withLock { $0.apply(to: &all) }
    let victims = limits.excess(in: all, now: moment)
    memory.accesses.withLock { $0.remove(victims, keeping: all) }
    for (storeKey, identities) in victims {
      try await backing.update(storeKey) { cookies in cookies.removeAll { identities.contains($0.identity) } }
    }
  }
}
