public import MartletSemantics
import Synchronization

/// Keeps cookies and sends them back, as RFC 6265bis says.
///
/// A session has one unless told otherwise (``SessionConfiguration/cookies``); sessions made from one configuration share
/// it. It may also be used by hand:
///
/// ```swift
/// let jar = CookieJar()
/// try await jar.store(setCookie: ["id=1; Path=/; Secure"], for: url)
/// try await jar.cookieHeader(for: url)   // "id=1"
/// ```
///
/// The cookies themselves are in a ``CookieStore``, in memory by default. Whatever the store throws, these methods throw;
/// a request, on the other hand, does not fail for it (an ``Event/note(_:)`` tells of it).
///
/// Where drafts differ, the newest holds: of RFC 6265bis (draft 22) and of *layered cookies*, which is to follow it. Only
/// https counts as secure. A cookie that belongs to a CSRF token is not replaced by responses of other sessions: see
/// ``CSRFInterceptor``. `Set-Cookie` in informational responses and in trailers is ignored, as both may be.
public final class CookieJar: Sendable {
  let backing: any CookieStore
  package let publicSuffixes: PublicSuffixes
  package let limits: CookieLimits
  let now: @Sendable () -> Date
  let accesses = Mutex(CookieAccesses())
  /// The values that belong to CSRF tokens; see ``holdsSession(of:in:)``.
  let paired = Mutex<[Cookie.Identity: String]>([:])
  private let sites = Mutex<[String: String]>([:])

  /// Makes a jar.
  ///
  /// - Parameters:
  ///   - store: where the cookies are; a store in memory of its own by default.
  ///   - publicSuffixes: the domains that no cookie may be for; the system's list by default.
  ///   - limits: how many cookies there may be: 180 a domain and 3000 altogether by default.
  ///   - now: tells the time; the system's by default.
  public init(
    store: any CookieStore = MemoryCookieStore(), publicSuffixes: PublicSuffixes = .system,
    limits: CookieLimits = .init(), now: @escaping @Sendable () -> Date = { .now }
  ) {
    backing = store
    self.publicSuffixes = publicSuffixes
    self.limits = limits
    self.now = now
  }

  // MARK: As a client does

  /// Takes the cookies of a response.
  ///
  /// - Parameters:
  ///   - lines: the values of its `Set-Cookie` fields, one by one, in order.
  ///   - url: the URL of the request that it answers.
  ///   - context: what else is known of that request.
  /// - Returns: What was refused, and why; empty in the usual case. That is a server's affair, and no error.
  @discardableResult
  public func store(
    setCookie lines: [String], for url: URL, in context: CookieContext = .init()
  ) async throws -> [CookieRefusal] {
    try await take(lines, for: url, in: context) { _ in [] }
  }

  /// Takes cookies, without those that are found to belong to another session than the list's.
  func take(
    _ lines: [String], for url: URL, in context: CookieContext,
    without foreign: @escaping @Sendable (CookieList) -> Set<Cookie.Identity>
  ) async throws -> [CookieRefusal] {
    guard !lines.isEmpty else { return [] }
    guard let request = CookieRequest(url) else { return lines.map { _ in CookieRefusal(.noHost) } }
    let moment = now()
    let outcomes = read(lines, for: request, in: context, now: moment)
    guard outcomes.contains(where: \.isSuccess) else { return outcomes.compactMap(\.refusal) }
    return try await change(site(of: request.host)) { list, limits in
      let foreign = foreign(list)
      let own = outcomes.map { outcome in
        outcome.flatMap { cookie in
          foreign.contains(cookie.identity) ? .failure(CookieRefusal(.otherSession, name: cookie.name)) : outcome
        }
      }
      return list.receive(own, isSecure: request.isSecure, in: context, limit: limits.perDomain, now: moment)
    }
  }

  /// Takes the cookies of a response's fields: those of the head that came over the network, which is
  /// ``HTTPResponse/wire``.
  @discardableResult
  public func store(
    from fields: HTTPFields, for url: URL, in context: CookieContext = .init()
  ) async throws -> [CookieRefusal] {
    try await store(setCookie: fields[values: .setCookie], for: url, in: context)
  }

  /// The cookies that `Set-Cookie` lines make, without regard to those that are there.
  func read(
    _ lines: [String], for request: CookieRequest, in context: CookieContext, now moment: Date
  ) -> [Result<Cookie, CookieRefusal>] {
    lines.map { line in
      Result { () throws(CookieRefusal) in
        try SetCookie(line, now: moment).cookie(
          for: request, in: context, publicSuffixes: publicSuffixes, now: moment)
      }
    }
  }

  /// The cookies that go with a request to the URL, in the order in which they go.
  public func cookies(for url: URL, in context: CookieContext = .init()) async throws -> [Cookie] {
    guard try await backing.count() > 0, let request = CookieRequest(url) else { return [] }
    let site = site(of: request.host)
    let moment = now()
    let chosen = CookieList(try await backing.cookies(in: site)).cookies(for: request, in: context, now: moment)
    guard !chosen.isEmpty else { return [] }
    let isDue = accesses.withLock { $0.note(chosen, in: site, at: moment) }
    // What was read is good, even where the times of access cannot be written.
    if isDue { try? await change(site) { _, _ in } }
    return chosen
  }

  /// The value of the `Cookie` field of a request to the URL; nil if there is nothing to send.
  public func cookieHeader(for url: URL, in context: CookieContext = .init()) async throws -> String? {
    CookieList.header(try await cookies(for: url, in: context))
  }

  // MARK: The store

  /// Changes the cookies of one site, with the times of access up to date, and makes room where there are too many.
  @discardableResult
  func change<Value: Sendable>(
    _ site: String, _ body: @escaping @Sendable (inout CookieList, CookieLimits) -> Value
  ) async throws -> Value {
    let accesses = accesses.withLock { $0.take(site) }
    let (value, grew) = try await backing.update(site) { [limits] cookies in
      let before = cookies.count
      var list = CookieList(cookies)
      list.touch(accesses)
      let value = body(&list, limits)
      cookies = list.cookies
      return (value, cookies.count > before)
    }
    if grew { try await makeRoom() }
    return value
  }

  /// Removes what is too much altogether: what has expired, then what was not used for the longest time.
  private func makeRoom() async throws {
    guard try await backing.count() > limits.total else { return }
    let moment = now()
    var all = try await backing.allCookies()
    accesses.withLock { $0.apply(to: &all) }
    let victims = limits.excess(in: all, now: moment)
    accesses.withLock { $0.remove(victims, keeping: all) }
    for (site, identities) in victims {
      try await backing.update(site) { cookies in cookies.removeAll { identities.contains($0.identity) } }
    }
  }

  /// The site of a host. Asked for every request, so that the answers are kept.
  package func site(of host: String) -> String {
    if let known = sites.withLock({ $0[host] }) { return known }
    let site = publicSuffixes.site(of: host)
    sites.withLock { known in
      if known.count >= 256 { known = [:] }
      known[host] = site
    }
    return site
  }
}

extension Result where Failure == CookieRefusal {
  fileprivate var isSuccess: Bool { refusal == nil }

  fileprivate var refusal: CookieRefusal? {
    guard case .failure(let refusal) = self else { return nil }
    return refusal
  }
}
