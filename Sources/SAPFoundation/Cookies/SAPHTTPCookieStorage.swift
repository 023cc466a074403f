public import Foundation
import MartletEngine
import MartletSemantics

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// How a ``SAPHTTPCookieStorage`` behaves.
public struct SAPHTTPCookieStorageOptions: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Cookies without a date of their own are stored too, for a program whose session goes on when it is started again.
  public static let persistSessionCookies = SAPHTTPCookieStorageOptions(rawValue: 1)
  /// Cookies without a date of their own end with the program.
  public static let `default`: SAPHTTPCookieStorageOptions = []
}

/// Cookies of a session's own, in memory and, if wanted, in a store: sent and taken as RFC 6265bis says.
///
/// ```swift
/// let configuration = URLSessionConfiguration.default
/// configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: storage)
/// let session = SAPURLSession(configuration: configuration)
/// ```
///
/// Nothing is shared with other storages; sessions that are given the same one share it. All methods may be called from any
/// thread, and what they change holds for the next request. A store that fails or holds what cannot be read is done without,
/// which the log says: the cookies are in memory then.
///
/// SAP's is a subclass of `HTTPCookieStorage`. That cannot be made on Linux, so that this one is a class of its own, with the
/// same methods, which a configuration takes in the same way; on Apple's platforms too, so that it is one behaviour.
public final class SAPHTTPCookieStorage: Sendable {
  let jar: CookieJar
  private let cookieJarStore: StoredCookies

  /// Makes a storage.
  ///
  /// - Parameters:
  ///   - persistentStorage: where the cookies are kept beyond the program's end; nowhere by default. Cookies are secrets.
  ///   - options: how it behaves; session cookies end with the program by default.
  public init(persistentStorage: (any CodableStoring)? = nil, options: SAPHTTPCookieStorageOptions = .default) {
    cookieJarStore = StoredCookies(persistentStorage, options)
    jar = CookieJar(store: cookieJarStore)
  }

  /// Where the cookies are kept beyond the program's end.
  public var persistentStorage: (any CodableStoring)? { cookieJarStore.storage }

  /// How it behaves. A change holds from the next change of a cookie on.
  public var options: SAPHTTPCookieStorageOptions {
    get { cookieJarStore.options }
    set { cookieJarStore.options = newValue }
  }

  /// Which cookies of responses are taken; all by default. Under `.never` those that are there are still sent.
  /// `.onlyFromMainDocumentDomain` matters where a main document is known, and takes no others' cookies then.
  public var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
    get { cookieJarStore.policy }
    set { cookieJarStore.policy = newValue }
  }

  /// All cookies whose time is not over, in the order in which they were made.
  public var cookies: [HTTPCookie]? {
    cookieJarStore.all(at: .now).sorted { $0.created < $1.created }.compactMap(\.foundation)
  }

  /// The cookies that go with a request to the URL, in the order in which they go.
  public func cookies(for url: URL) -> [HTTPCookie]? {
    guard let request = CookieRequest(url) else { return [] }
    return CookieList(cookieJarStore.read(jar.site(of: request.host)))
      .cookies(for: request, in: CookieContext(), now: .now).compactMap(\.foundation)
  }

  /// All cookies, in the order that the descriptors ask for. (SAP's does not sort.)
  public func sortedCookies(using sortOrder: [NSSortDescriptor]) -> [HTTPCookie] {
    let cookies = self.cookies ?? []
    let sorted = cookies.enumerated().sorted { one, other in
      for descriptor in sortOrder {
        switch descriptor.compare(one.element, to: other.element) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return one.offset < other.offset
    }
    return sorted.map(\.element)
  }

  /// Puts a cookie in, in place of the one with its name, domain and path. One that could never be sent is not taken, nor any
  /// under `.never`.
  public func setCookie(_ cookie: HTTPCookie) {
    guard cookieAcceptPolicy != .never, let cookie = try? Cookie(cookie).checked(jar.publicSuffixes) else { return }
    change(cookie.domain) { list, limits in
      list.put(cookie)
      list.removeExpired(.now)
      list.trim(cookie.domain, to: limits.perDomain)
    }
  }

  /// Puts cookies of a response in, as ``setCookie(_:)`` does.
  ///
  /// - Parameters:
  ///   - cookies: the cookies.
  ///   - url: where they came from; nil takes them as they are.
  ///   - mainDocumentURL: the page on whose behalf it was asked; under `.onlyFromMainDocumentDomain` nothing is taken from
  ///     another site than its.
  public func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
    if cookieAcceptPolicy == .onlyFromMainDocumentDomain, let url, let mainDocumentURL {
      guard jar.isSameSite(url, as: mainDocumentURL) else { return }
    }
    for cookie in cookies { setCookie(cookie) }
  }

  /// Removes the cookie with the name, domain and path of this one.
  public func deleteCookie(_ cookie: HTTPCookie) {
    let cookie = Cookie(cookie)
    guard let domain = CookieHost.canonical(cookie.domain) else { return }
    change(domain) { list, _ in
      list.remove { $0.name == cookie.name && $0.domain == domain && $0.path == cookie.path }
    }
  }

  /// Removes the cookies that were made at this time or later; `.distantPast` removes all.
  public func removeCookies(since date: Date) { cookieJarStore.remove { $0.created >= date } }

  private func change(_ domain: String, _ body: (inout CookieList, CookieLimits) -> Void) {
    cookieJarStore.change(jar.site(of: domain)) { cookies in
      var list = CookieList(cookies)
      body(&list, jar.limits)
      cookies = list.cookies
    }
  }
}

extension Cookie {
  /// What Foundation calls a cookie.
  fileprivate init(_ cookie: HTTPCookie) {
    self.init(
      name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: !cookie.domain.hasPrefix("."),
      path: cookie.path, expires: cookie.isSessionOnly ? nil : cookie.expiresDate, isSecure: cookie.isSecure,
      isHTTPOnly: cookie.isHTTPOnly)
  }

  /// The cookie for Foundation; nil if it has no name, which Foundation does not know.
  fileprivate var foundation: HTTPCookie? {
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .domain: isHostOnly ? domain : "." + domain, .path: path,
    ]
    if let expires { properties[.expires] = expires } else { properties[.discard] = "TRUE" }
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[HTTPCookiePropertyKey("HttpOnly")] = "TRUE" }
    return HTTPCookie(properties: properties)
  }
}
