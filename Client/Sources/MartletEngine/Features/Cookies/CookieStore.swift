public import MartletSemantics
import Synchronization

/// The place where a ``CookieJar`` stores its cookies: memory, a file, a server.
///
/// A store does not apply rules: ``CookieJar`` decides which cookies are accepted, sent and removed. Cookies are stored
/// by *site*: the registrable domain (`example.co.uk`), to whose hosts they are sent, or the host itself if it has none
/// (an address, a name without dots). In a partition (``CookieJar/partition(_:)``), a slash and 64 hexadecimal digits
/// follow; a store need not distinguish them. There are at most 180 cookies of a domain and about 3,300 of all sites.
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
  /// The closure has no side effects, because a store that detects conflicts afterwards may call it again. It neither
  /// suspends nor calls the store. A site without cookies is removed. If the closure changes nothing, nothing need be
  /// written.
  ///
  /// - Returns: the result of the closure, from the call whose change was stored.
  func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result

  /// Returns the number of cookies of all sites. It is called before most requests and after every new cookie, so it
  /// should be fast. It may be an estimate, but 0 only if there are no cookies.
  func count() async throws -> Int

  /// Returns all cookies by site. It is called to list all cookies, and when there are too many.
  ///
  /// A store that changes several sites at the same time first waits for the changes of this process that have begun:
  /// a removal of many cookies has to find theirs.
  func allCookies() async throws -> [String: [Cookie]]

  /// Removes all cookies.
  func removeAll() async throws
}

/// A store that has its cookies in memory: looking at them never suspends.
@_spi(Stores) public protocol ImmediateCookieStore: CookieStore {
  /// The state of the cookies now.
  var revision: CookieRevision { get }

  /// Returns the cookies of a site, like ``CookieStore/cookies(in:)``, as they were at the last look at the revision or
  /// later.
  func immediateCookies(in site: String) -> [Cookie]

  /// Returns the cookies of a site that a host may get: those of its own domain and of the domains above it, in no
  /// particular order. Others among them do no harm. By default all cookies of the site, which takes longer with each
  /// of them; ``CookieSnapshot`` finds those of the host.
  func immediateCookies(in site: String, for host: String) -> [Cookie]
}

@_spi(Stores) extension ImmediateCookieStore {
  public func immediateCookies(in site: String, for host: String) -> [Cookie] { immediateCookies(in: site) }
}

/// The state of a store's cookies.
@_spi(Stores) public enum CookieRevision: Equatable {
  /// There are no cookies.
  case empty
  /// There are cookies. The number grows with every change.
  case number(Int)
  /// The store cannot tell without waiting. Its asynchronous methods can, or throw the reason why not.
  case unknown
}

/// The cookies of a store in memory, by site.
@_spi(Stores) public struct CookieSnapshot: Sendable {
  public private(set) var sites: [String: [Cookie]] = [:]
  public private(set) var count = 0
  private var number = 0
  /// Where the cookies of each domain are, for the sites that have many.
  private var indices: [String: CookieIndex] = [:]
  /// The number of cookies of a site that are looked through faster than they are found.
  private static let indexMinimum = 64

  public init() {}

  public var revision: CookieRevision { count == 0 ? .empty : .number(number) }

  /// Returns the cookies of a site.
  public subscript(site: String) -> [Cookie] { sites[site] ?? [] }

  /// Returns the cookies of a site that a host may get: those of its own domain and of the domains above it. Of a site
  /// with few cookies, all.
  public subscript(site: String, for host: String) -> [Cookie] {
    let cookies = self[site]
    guard let index = indices[site] else { return cookies }
    return index.positions(for: host).map { cookies[$0] }
  }

  /// Changes the cookies of a site. The revision stays if the closure changes nothing.
  public mutating func update<Result>(_ site: String, _ change: (inout [Cookie]) -> Result) -> Result {
    let before = self[site]
    var cookies = before
    let result = change(&cookies)
    guard cookies != before else { return result }
    count += cookies.count - before.count
    number += 1
    sites[site] = cookies.isEmpty ? nil : cookies
    if cookies.count > Self.indexMinimum {
      indices[site, default: CookieIndex()].update(to: cookies)
    } else {
      indices[site] = nil
    }
    return result
  }

  /// Replaces all cookies.
  public mutating func replace(by sites: [String: [Cookie]]) {
    self.sites = sites.filter { !$0.value.isEmpty }
    count = sites.values.reduce(0) { $0 + $1.count }
    number += 1
    indices = sites.filter { $0.value.count > Self.indexMinimum }.mapValues { cookies in
      var index = CookieIndex()
      index.update(to: cookies)
      return index
    }
  }
}

/// The positions of a site's cookies by their domains. A site has any number of domains, each of them has at most
/// ``Cookie/Limits/perDomain`` cookies.
private struct CookieIndex: Sendable {
  /// The domain at each position.
  private var domains: [String] = []
  private var positions: [String: [Int]] = [:]

  /// Follows a change of the cookies. Usually a value was replaced or a cookie was added at the end.
  mutating func update(to cookies: [Cookie]) {
    let isKept =
      domains.count <= cookies.count && domains.indices.allSatisfy { domains[$0] == cookies[$0].domain }
    if !isKept { self = CookieIndex() }
    for position in domains.count..<cookies.count {
      domains.append(cookies[position].domain)
      positions[cookies[position].domain, default: []].append(position)
    }
  }

  /// Returns the positions of the cookies of a host's own domain and of those above it.
  func positions(for host: String) -> [Int] {
    var found: [Int] = []
    var domain = host[...]
    while true {
      found += positions[String(domain)] ?? []
      guard let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return found }
      domain = domain[domain.utf8.index(after: dot)...]
    }
  }
}

/// Stores cookies in memory while the store exists. This is the default of ``CookieJar``.
public final class MemoryCookieStore: CookieStore {
  private let state = Mutex(CookieSnapshot())

  /// Makes an empty store.
  public init() {}

  public func cookies(in site: String) async throws -> [Cookie] { immediateCookies(in: site) }

  public func update<Result: Sendable>(
    _ site: String, _ change: @escaping @Sendable (inout [Cookie]) -> Result
  ) async throws -> Result {
    state.withLock { $0.update(site, change) }
  }

  public func count() async throws -> Int { state.withLock { $0.count } }

  public func allCookies() async throws -> [String: [Cookie]] { state.withLock { $0.sites } }

  public func removeAll() async throws { state.withLock { $0.replace(by: [:]) } }
}

@_spi(Stores) extension MemoryCookieStore: ImmediateCookieStore {
  public var revision: CookieRevision { state.withLock { $0.revision } }

  public func immediateCookies(in site: String) -> [Cookie] { state.withLock { $0[site] } }

  public func immediateCookies(in site: String, for host: String) -> [Cookie] {
    state.withLock { $0[site, for: host] }
  }
}

@_spi(Transports) extension MemoryCookieStore: DeadlineAware {
  /// True: it does not wait.
  public var endsAtDeadline: Bool { true }
}
