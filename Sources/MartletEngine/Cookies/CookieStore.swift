public import MartletSemantics

/// Where a ``CookieJar`` keeps its cookies: memory, a file, a server.
///
/// A store keeps values and knows no rule: what is accepted, sent or evicted is the jar's affair. Cookies are kept by
/// *site*: the registrable domain (`example.co.uk`) to whose hosts alone they can be sent, or the host itself where it
/// has none (an address, a name without dots). A domain holds 180 cookies at most, all sites together some 3,000.
///
/// A site's cookies are a set: their order means nothing (``Cookie/created`` gives it), and
/// ``Cookie/identity-swift.property`` is unique within it.
///
/// ```swift
/// let jar = CookieJar(store: try SQLiteCookieStore(at: url))
/// ```
///
/// Notes for whoever writes one:
/// - Every method may be called from many tasks, and where the medium is shared, from many processes at the same time.
/// - Whether session cookies (``Cookie/isSession``) outlive the process is the store's option; it should be off unless
///   asked for. Within the process they are kept like all others.
/// - A store may drop expired cookies whenever it likes; it need not.
/// - A store keeps every property of a cookie exactly, fractions of seconds included.
/// - What is thrown does not fail a request: the jar goes on without cookies, and tells.
/// - The jar reads a site's cookies for every request, and writes only when a response set a cookie, or when the times of
///   last access on record are more than an hour behind: a store need not save writes, but reading should be fast.
public protocol CookieStore: Sendable {
  /// The cookies of a site, expired ones included; none if the site is unknown.
  func cookies(in site: String) async throws -> [Cookie]

  /// Changes the cookies of a site atomically: no other change to that site, by another task or another process, comes
  /// between reading them and writing what the closure made of them.
  ///
  /// The closure has no effect but its result, and may be called again where the medium detects conflicts only afterwards.
  /// It neither waits nor calls the store. A site that is left without cookies is forgotten. Where the closure changes
  /// nothing, nothing need be written.
  ///
  /// - Returns: What the closure returned in the call whose change was kept.
  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result

  /// How many cookies there are in all sites together. Asked before most requests and after every new cookie: it should
  /// be cheap, and may be an estimate as long as it is 0 only when there is none.
  func count() async throws -> Int

  /// All cookies by site; asked by whoever wants to see them all, and when there are too many.
  func allCookies() async throws -> [String: [Cookie]]

  /// Removes everything.
  func removeAll() async throws
}
