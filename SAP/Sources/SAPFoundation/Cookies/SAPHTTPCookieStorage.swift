@_spi(Credentials) @_spi(Stores) import MartletEngine
@_spi(Credentials) @_spi(Toolkit) import MartletSemantics

/// The options of a ``SAPHTTPCookieStorage``.
public struct SAPHTTPCookieStorageOptions: OptionSet, Sendable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Also stores cookies without an expiry date, for a program that continues its session when it is started again.
  public static let persistSessionCookies = SAPHTTPCookieStorageOptions(rawValue: 1)
  /// Cookies without an expiry date are removed when the program ends.
  public static let `default`: SAPHTTPCookieStorageOptions = []
}

/// The cookies of a session, in memory and optionally in a store. RFC 6265bis determines how they are sent and stored.
///
/// ```swift
/// let configuration = URLSessionConfiguration.default
/// configuration.httpCookieStorage = SAPHTTPCookieStorage(persistentStorage: storage)
/// let session = SAPURLSession(configuration: configuration)
/// ```
///
/// Different storages share no cookies; sessions with the same storage share them. All methods may be called from any
/// thread, and take effect for the next request.
///
/// If the store fails, the cookies are only in memory, and the log says so. The next change of a cookie tries the store
/// again. Stored cookies that could not be read before are then added, and content that cannot be decoded is replaced.
///
/// A store is for one process: it has no transactions, so the cookies of the process that writes last replace those of
/// others. Only a sign-out reaches all processes. Processes that share cookies need the default configuration, whose
/// cookies are in a database.
///
/// SAP's is a subclass of `HTTPCookieStorage`, which is not possible on Linux. This class has the same methods, and is
/// assigned to a configuration in the same way. It is the same on Apple's platforms.
public final class SAPHTTPCookieStorage: Sendable {
  let jar: CookieJar
  private let cookieJarStore: any BlockingCookieStore

  /// Makes a storage.
  ///
  /// - Parameters:
  ///   - persistentStorage: stores the cookies permanently; none by default. Cookies are secrets.
  ///   - options: the options; by default session cookies are removed when the program ends.
  public convenience init(
    persistentStorage: (any CodableStoring)? = nil, options: SAPHTTPCookieStorageOptions = .default
  ) {
    self.init(StoredCookies(persistentStorage, options))
  }

  init(_ store: some BlockingCookieStore) {
    cookieJarStore = store
    jar = CookieJar(store: store)
  }

  /// Adopts changes that other code has made in the meantime.
  func synchronize() { cookieJarStore.synchronize() }

  /// The permanent store of the cookies; nil for none.
  public var persistentStorage: (any CodableStoring)? { cookieJarStore.storage }

  /// The options. A change takes effect with the next change of a cookie.
  public var options: SAPHTTPCookieStorageOptions {
    get { cookieJarStore.options }
    set { cookieJarStore.options = newValue }
  }

  /// Which cookies of responses are stored; all by default. With `.never`, stored cookies are still sent. The policy
  /// `.onlyFromMainDocumentDomain` has an effect only if the main document is known: then only cookies of its site are
  /// stored.
  public var cookieAcceptPolicy: HTTPCookie.AcceptPolicy {
    get { cookieJarStore.policy }
    set { cookieJarStore.policy = newValue }
  }

  /// All cookies that have not expired, in the order of their creation.
  public var cookies: [HTTPCookie]? {
    cookieJarStore.all(at: .now).sorted { $0.created < $1.created }.compactMap(\.foundation)
  }

  /// Returns the cookies that are sent with a request to the URL, in the order in which they are sent.
  public func cookies(for url: URL) -> [HTTPCookie]? {
    guard let request = CookieRequest(url) else { return [] }
    return CookieList(cookieJarStore.read(jar.site(of: request.host)))
      .cookies(for: request, in: Cookie.Context(), now: .now).compactMap(\.foundation)
  }

  /// Returns all cookies, sorted by the descriptors. (SAP's does not sort.)
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

  /// Stores a cookie, and replaces the one with its name, domain and path. A cookie that could never be sent is not
  /// stored. With `.never`, no cookie is stored, and a login stores none after a sign-out: see ``SAMLAuthentication``.
  public func setCookie(_ cookie: HTTPCookie) { setCookie(cookie, since: .current) }

  /// Returns the beginning of work that may store cookies, with the sign-outs of other processes.
  func beginning(of work: Beginning = .current) -> Beginning {
    Beginning(work.position, signOuts: work.signOuts ?? cookieJarStore.signOuts)
  }

  /// Whether the user has signed out since the work began.
  func hasSignedOut(since beginning: Beginning) -> Bool { jar.signOut.isAfter(beginning) }

  /// Stores a cookie, unless the user has signed out since the work began, in this process or another.
  func setCookie(_ cookie: HTTPCookie, since beginning: Beginning) {
    guard cookieAcceptPolicy != .never else { return }
    put(cookie) { site, change in
      cookieJarStore.change(site, since: beginning.signOuts) { cookies in
        // Checked within the change, because a sign-out sets its mark before it removes what is stored.
        if !hasSignedOut(since: beginning) { change(&cookies) }
      }
    }
  }

  /// Stores a cookie by the rules of this storage.
  ///
  /// - Parameter change: changes the cookies of a site.
  func put(
    _ cookie: HTTPCookie, by change: (_ site: String, _ body: (inout [Cookie]) -> Void) throws -> Void
  ) rethrows {
    guard let cookie = try? Cookie(cookie).checked(jar.publicSuffixes) else { return }
    try change(jar.site(of: cookie.domain)) { cookies in
      var list = CookieList(cookies)
      list.put(cookie)
      list.removeExpired(.now)
      list.trim(cookie.domain, to: jar.limits.perDomain)
      cookies = list.cookies
    }
  }

  /// Stores cookies of a response, in the same way as ``setCookie(_:)``.
  ///
  /// - Parameters:
  ///   - cookies: the cookies.
  ///   - url: the response's URL; nil if it is not known.
  ///   - mainDocumentURL: the page that made the request. With `.onlyFromMainDocumentDomain`, only cookies of the
  ///     page's site are stored.
  public func setCookies(_ cookies: [HTTPCookie], for url: URL?, mainDocumentURL: URL?) {
    if cookieAcceptPolicy == .onlyFromMainDocumentDomain, let url, let mainDocumentURL {
      guard jar.isSameSite(url, as: mainDocumentURL) else { return }
    }
    for cookie in cookies { setCookie(cookie) }
  }

  /// Removes the cookie with the name, domain and path of this one.
  public func deleteCookie(_ cookie: HTTPCookie) {
    let cookie = Cookie(cookie)
    guard let domain = HostName.canonical(cookie.domain) else { return }
    cookieJarStore.change(jar.site(of: domain), since: nil) { cookies in
      cookies.removeAll { $0.name == cookie.name && $0.domain == domain && $0.path == cookie.path }
    }
  }

  /// Removes the cookies that were created at this date or later. `.distantPast` removes all, as at a sign-out. Then
  /// cookies in later responses to requests that began before are not stored.
  public func removeCookies(since date: Date) {
    if date == .distantPast { jar.signOut.set() }
    cookieJarStore.remove(since: date)
  }
}

extension Cookie {
  /// Makes a cookie from Foundation's.
  fileprivate init(_ cookie: HTTPCookie) {
    self.init(
      name: cookie.name, value: cookie.value, domain: cookie.domain, isHostOnly: !cookie.domain.hasPrefix("."),
      path: cookie.path, expires: cookie.isSessionOnly ? nil : cookie.expiresDate, isSecure: cookie.isSecure,
      isHTTPOnly: cookie.isHTTPOnly)
  }

  /// The cookie as one of Foundation's; nil if it has no name, which Foundation does not support.
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
