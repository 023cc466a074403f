import MartletEngine
import MartletSemantics
import Synchronization

/// The tokens of one interceptor and partition. It reads them from the store, fetches each once for all requests that
/// need it, takes newer ones from responses, and does not return a refused token.
final class CSRFTokens: Sendable {
  private struct Memory {
    /// The tokens by URL, in case the store fails.
    var mirror: [URL: String] = [:]
    /// The token URLs whose requests were accepted without a token.
    var unprotected: Set<URL> = []
    /// The last token of each URL that was refused.
    var refused: [URL: String] = [:]
    /// The number of fetches that have ended.
    var fetches = 0
    /// The number of the last fetch of each URL.
    var lastFetch: [URL: Int] = [:]
  }

  /// The result of reading the store or of a fetch.
  private struct Found {
    var token: String?
    /// Whether the result is from a fetch.
    var isFetched = false
  }

  /// The key of shared work: the URL, and the properties that separate requests that must not share a result.
  private struct Key: Hashable {
    let url: URL
    /// The last sign-out: requests from before and after it share nothing.
    let signOut: UInt64
    /// The shared work that the request is part of, such as the renewal of a credential. Its fetch is sent without that
    /// credential, so the result is not valid for requests that have one.
    let outer: ObjectIdentifier?
  }

  private typealias Work = @Sendable () async throws -> Found

  private let options: CSRFOptions
  /// The partition of the cookies to which the tokens belong.
  private let partition: String
  private let works = SharedWork<Key, Found>()
  private let memory = Mutex(Memory())
  private let signOut = SignOutMark()

  init(_ options: CSRFOptions, partition: String = "") {
    self.options = options
    self.partition = partition
  }

  /// Whether a call is part of a fetch. It needs no token, and the fetch itself stores the token of its response.
  func isFetch(_ call: Call) -> Bool { works.isDoing(call.parent) }

  /// The number of fetches that have ended. A response's token is outdated if a fetch has ended since its request was
  /// sent.
  var generation: Int { memory.withLock { $0.fetches } }

  /// Removes all tokens except those in the store, which the caller removes afterwards. The result of a running fetch
  /// is discarded, and its waiters get ``Martlet/HTTPError/signedOut``.
  func forget() {
    signOut.set()
    memory.withLock { ($0.mirror, $0.unprotected, $0.refused) = ([:], [], [:]) }
  }

  /// Returns the token of a URL, from the store or by a fetch; nil if there is none.
  ///
  /// - Parameter skipsUnprotected: whether to skip the fetch if requests were accepted without a token before.
  func token(for url: URL, skipsUnprotected: Bool, in call: Call) async throws -> String? {
    try await shared(url, by: call) { [self] in
      if let token = await stored(url, in: call) { return Found(token: token) }
      if skipsUnprotected, memory.withLock({ $0.unprotected.contains(url) }) { return Found() }
      return try await fetch(url, in: call)
    }?.token
  }

  /// Returns a token in place of a refused one: a newer one if there already is one, otherwise from a fetch.
  ///
  /// - Parameters:
  ///   - refused: the token of the request. If it had none, the stored token is used only if it was fetched since the
  ///     request was prepared: an older one may have expired, and the request is sent again only once.
  ///   - generation: the ``generation`` when the request was prepared.
  func replacement(
    for refused: String?, of url: URL, since generation: Int, in call: Call
  ) async throws -> String? {
    memory.withLock { memory in
      memory.unprotected.remove(url)
      if let refused { memory.refused[url] = refused }
    }
    while true {
      let found = try await shared(url, by: call) { [self] in
        if let token = await stored(url, in: call), refused != nil || wasFetched(url, since: generation) {
          return Found(token: token)
        }
        if refused != nil { try await store(nil, url, in: call) }
        return try await fetch(url, in: call)
      }
      guard let found else { return nil }
      // Reading the store may have begun earlier, and returned the refused token or an old one.
      let isNew = refused == nil ? wasFetched(url, since: generation) : found.token != refused
      if found.isFetched || isNew { return found.token }
    }
  }

  /// Removes a refused token without getting another one.
  func discard(_ token: String, of url: URL, in call: Call) async {
    memory.withLock { $0.refused[url] = token }
    if (try? await options.store.token(for: url)) == token { try? await store(nil, url, in: call) }
  }

  /// Whether a token is the one in use, or the last one that was refused.
  func isKnown(_ token: String, for url: URL) -> Bool {
    memory.withLock { $0.mirror[url] == token || $0.refused[url] == token }
  }

  /// Stores a newer token from a response, unless a fetch has ended since its request was sent.
  func update(_ token: String, for url: URL, since generation: Int, in call: Call) async {
    let work: Work = { [self] in
      guard !wasFetched(url, since: generation), await stored(url, in: call) != token else {
        return Found(token: token)
      }
      try await store(token, url, in: call)
      return Found(token: token)
    }
    // The first result may be that of work that began earlier. If that was a fetch, the generation has changed.
    for _ in 0..<2 where !wasFetched(url, since: generation) {
      guard let known = try? await shared(url, by: call, work), known.token != token else { return }
    }
  }

  /// Records that a request without a token was accepted.
  func markUnprotected(_ url: URL) { memory.withLock { _ = $0.unprotected.insert(url) } }

  /// Runs the work for a URL, or waits for that of another request; nil if that work waits for this call.
  private func shared(_ url: URL, by call: Call, _ work: @escaping Work) async throws -> Found? {
    let lastSignOut = signOut.last  // Read before the check, so that work from after a sign-out is not joined.
    try signOut.check(call.id)
    let outer = call.parent.works.first { $0.owner != nil }
    let key = Key(url: url, signOut: lastSignOut, outer: outer.map { ObjectIdentifier($0) })
    let found = try await works.value(for: key, by: call, work)
    try signOut.check(call.id)
    return found
  }

  private func wasFetched(_ url: URL, since generation: Int) -> Bool {
    memory.withLock { $0.lastFetch[url] ?? 0 } > generation
  }

  /// Fetches a token and stores it. A fetch that found no token is not remembered: it may only have lacked a login.
  private func fetch(_ url: URL, in call: Call) async throws -> Found {
    guard let session = call.session else { return Found(isFetched: true) }
    let fetch = CSRFFetch(url: url, field: options.field, partition: partition, session: session, call: call)
    let token = await fetch.token()
    memory.withLock { memory in
      memory.fetches += 1
      memory.lastFetch[url] = memory.fetches
      // The server returned the refused token again: something else was wrong, for example its cookie.
      if memory.refused[url] == token { memory.refused[url] = nil }
    }
    if let token { try await store(token, url, in: call) }
    return Found(token: token, isFetched: true)
  }

  // MARK: - The store

  /// Returns the stored token; nil if there is none, or if it was refused.
  private func stored(_ url: URL, in call: Call) async -> String? {
    var token: String?
    var hasFailed = false
    do {
      token = try await options.store.token(for: url)
    } catch {
      call.emit(.note("the CSRF token store failed: \(error)"))
      hasFailed = true
    }
    return memory.withLock { memory in
      // A store that failed to store the newer token still has the refused one.
      let isRefused = token != nil && token == memory.refused[url]
      if hasFailed || isRefused { token = memory.mirror[url] }
      return token == memory.refused[url] ? nil : token
    }
  }

  /// Stores a token; nil removes it.
  ///
  /// - Throws: ``Martlet/HTTPError/signedOut`` if the user has signed out since the call began. Nothing is stored then.
  ///   The store has its own lock, so a sign-out is checked for again after storing.
  private func store(_ token: String?, _ url: URL, in call: Call) async throws {
    try memory.withLock { memory in
      try signOut.check(call.id)
      memory.mirror[url] = token
      if token != nil { memory.unprotected.remove(url) }
    }
    do {
      try await options.store.setToken(token, for: url)
    } catch { call.emit(.note("the CSRF token store failed: \(error)")) }
    guard token != nil, signOut.isAfter(call.id) else { return }
    if (try? await options.store.token(for: url)) == token { try? await options.store.setToken(nil, for: url) }
    throw HTTPError.signedOut
  }
}

/// Fetches the token of a URL until one belongs to the cookies in the session's jar.
private struct CSRFFetch {
  let url: URL
  let field: FieldName
  let partition: String
  let session: HTTPSession
  /// The call that needs the token.
  let call: Call

  /// How often one request is sent while responses of other sessions replace the cookies. Two times are nearly always
  /// enough: from the first response on, the cookies in the jar belong to a token (see
  /// ``Martlet/CookieJar/holdsSession(of:in:)``), and only their own session or a login replaces them.
  private static let attemptLimit = 4

  private enum Answer {
    case token(String)
    case none
    /// The user has to sign in first.
    case unauthorized
  }

  /// Returns the token; nil if the server returns none.
  func token() async -> String? {
    search: for request in CSRFRule.fetchRequests(for: url) {
      do throws(HTTPError) {
        switch try await answer(to: request.method, request.url) {
        case .token(let token): return token
        case .none: continue
        case .unauthorized: break search
        }
      } catch {
        call.emit(.note("the CSRF token could not be fetched: \(error.message)"))
        return nil
      }
    }
    call.emit(.note("\(url.redacted) returned no CSRF token"))
    return nil
  }

  private func answer(to method: HTTPMethod, _ url: URL) async throws(HTTPError) -> Answer {
    var request = HTTPRequest(method, url, fields: [field: "Fetch"])
    request.options.cachePolicy = .reloadIgnoringCacheData
    request.options.partition = partition
    request.options.expecting = .any
    var answer = Answer.none
    for _ in 0..<Self.attemptLimit {
      let (body, response) = try await session.bytes(for: request)
      if body.length == 0 { _ = try? await body.collect(upTo: 0) }  // so that the call ends well, with its metrics
      body.cancel()
      // After a redirect, for example to a login page, the token of another origin is not valid for this one.
      guard Origin(response.url) == Origin(url) else { return .none }
      guard let token = CSRFRule.token(in: response.head, field: field) else {
        return response.status == .unauthorized ? .unauthorized : .none
      }
      answer = .token(token)
      if await session.holdsSession(of: response, to: request) { break }
    }
    return answer
  }
}

extension HTTPSession {
  /// Whether a response with a CSRF token belongs to the same server session as the cookies in the jar; true if the
  /// request does not use cookies.
  func holdsSession(of response: HTTPResponse, to request: HTTPRequest) async -> Bool {
    let request = withOptions(request)
    guard let jar = configuration.cookies, request.options.handlesCookies else { return true }
    var context = request.options.cookieContext
    context.method = request.method
    return await jar.partition(request.options.partition).holdsSession(of: response, in: context)
  }
}
