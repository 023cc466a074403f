public import MartletSemantics
import Synchronization

/// The place where a ``CookieJar`` stores its cookies: memory, a file, a server.
///
/// A store does not apply rules: ``CookieJar`` decides which cookies are accepted, sent and removed. Cookies are stored
/// by *site*: the registrable domain (`example.co.uk`), to whose hosts they are sent, or the host itself if it has none
/// (an address, a name without dots). In a partition (``CookieJar/partition(_:)``), a slash and 64 hexadecimal digits
/// follow; a store need not distinguish them. There are at most 180 cookies of a domain and about 3,000 of all sites.
///
/// The cookies of a site are a set: their order has no meaning (see ``Cookie/created``), and
/// ``Cookie/identity-swift.property`` is unique among them.
///
/// ```swift
/// let jar = CookieJar(store: try SQLiteCookieStore(at: url))
/// ```
///
/// Requirements:
/// - Many tasks call every method at the same time, and many processes if they share the medium.
/// - Whether session cookies (``Cookie/isSession``) are kept after the process ends is an option of the store, and off
///   by default. Within the process they are stored like all others.
/// - A store may remove expired cookies at any time.
/// - A store returns every property of a cookie exactly as it was stored, including fractions of seconds.
/// - An error does not fail a request: the jar continues without cookies, and an ``Event/note(_:)`` reports the error.
/// - The jar reads the cookies of a site for every request. It writes only when a response sets a cookie, or when the
///   stored times of last access are more than an hour old. So reading should be fast, and writing may be slow.
public protocol CookieStore: Sendable {
  /// Returns the cookies of a site, including expired ones; none if the site is unknown.
  func cookies(in site: String) async throws -> [Cookie]

  /// Changes the cookies of a site atomically: no other task or process changes them between the reading and the
  /// writing.
  ///
  /// The closure has no effect except its result. It may be called again if the medium detects conflicts only
  /// afterwards. It neither suspends nor calls the store. A site without cookies is removed. If the closure changes
  /// nothing, nothing need be written.
  ///
  /// - Returns: the result of the closure, from the call whose change was stored.
  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result

  /// Returns the number of cookies of all sites. It is called before most requests and after every new cookie, so it
  /// should be fast. It may be an estimate, but 0 only if there are no cookies.
  func count() async throws -> Int

  /// Returns all cookies by site. It is called to list all cookies, and when there are too many.
  func allCookies() async throws -> [String: [Cookie]]

  /// Removes all cookies.
  func removeAll() async throws
}

/// A store that never suspends and always knows whether it has cookies.
package protocol ImmediateCookieStore: CookieStore, AnyObject {
  /// A number that grows with every change; nil if there are no cookies.
  var revision: Int? { get }

  /// Returns the cookies of a site, like ``CookieStore/cookies(in:)``.
  func currentCookies(in site: String) -> [Cookie]
}

/// Stores cookies in memory while the store exists. This is the default of ``CookieJar``.
public final class MemoryCookieStore: ImmediateCookieStore {
  private struct State {
    var sites: [String: [Cookie]] = [:]
    var count = 0
    var revision = 0
  }

  private let state = Mutex(State())

  /// Makes an empty store.
  public init() {}

  public func cookies(in site: String) async throws -> [Cookie] { currentCookies(in: site) }

  package func currentCookies(in site: String) -> [Cookie] { state.withLock { $0.sites[site] ?? [] } }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    state.withLock { state in
      var cookies = state.sites[site] ?? []
      state.count -= cookies.count
      let result = change(&cookies)
      state.count += cookies.count
      state.revision += 1
      state.sites[site] = cookies.isEmpty ? nil : cookies
      return result
    }
  }

  package var revision: Int? { state.withLock { $0.count == 0 ? nil : $0.revision } }

  public func count() async throws -> Int { state.withLock { $0.count } }

  public func allCookies() async throws -> [String: [Cookie]] { state.withLock { $0.sites } }

  public func removeAll() async throws { state.withLock { $0 = State(revision: $0.revision + 1) } }
}
