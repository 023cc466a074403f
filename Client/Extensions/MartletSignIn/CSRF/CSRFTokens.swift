@_spi(Credentials) @_spi(Toolkit) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// The tokens of one interceptor and partition. It reads them from the store, fetches each once for all requests that
/// need it, takes newer ones from responses, and does not return a refused token.
final class CSRFTokens: Sendable {
  /// The tokens of one URL, and what its server has said about them.
  private struct Knowledge {
    /// The token in use, in case the store fails.
    var token: String?
    /// The last token that was refused.
    var refused: String?
    /// The last 16 tokens with which writes were not refused.
    var accepted: [String] = []
    /// Whether requests were accepted without a token.
    var isUnprotected = false
    /// Set if the URL returned no token although the server requires one.
    var tokenless: Tokenless?
    /// The number of the last fetch; 0 before the first.
    var lastFetch = 0

    /// Records a refusal, unless the token has been replaced by a newer one.
    mutating func refuse(_ token: String) {
      if self.token ?? token == token { refused = token }
    }
  }

  /// The tokens of the URLs that were used most recently.
  private struct Memory {
    private var urls = LRUStorage<URL, Knowledge>(countLimit: 1000)
    /// The number of the last fetch of any forgotten URL. It applies to every unknown URL: if a request began before
    /// that fetch, the token in its response may be outdated, and is not stored.
    private var forgottenFetch = 0
    /// The number of fetches that have begun, and the number of fetches that have ended.
    var (begun, ended) = (0, 0)

    subscript(url: URL) -> Knowledge {
      mutating get { urls.use(url) ?? Knowledge(lastFetch: forgottenFetch) }
      _modify {
        var knowledge = urls.remove(url) ?? Knowledge(lastFetch: forgottenFetch)
        defer {
          for oldest in urls.set(knowledge, for: url) { forgottenFetch = max(forgottenFetch, oldest.lastFetch) }
        }
        yield &knowledge
      }
    }

    /// Forgets all tokens.
    mutating func forget() {
      urls.removeAll { _ in true }
      forgottenFetch = ended
    }
  }

  /// The result of reading the store or of a fetch.
  struct Found {
    var token: String?
    /// The number of the fetch; nil if there was none.
    var fetch: Int?
    /// Whether the server answered the fetch without a token.
    var isWithoutToken = false
  }

  /// A URL that returned no token.
  private struct Tokenless {
    let since: Stopwatch
    /// How many fetches in a row have returned none.
    let count: Int
    /// The cookies after the fetch. A login changes them, and the server may then return a token.
    let cookies: String?
  }

  /// How long no token is fetched from a URL that returned none, unless the cookies change. The first time it is
  /// fetched again for the next write, because the service may only have failed for a moment.
  private static func pause(after count: Int) -> Duration {
    count < 2 ? .zero : Backoff(base: .seconds(1), delayLimit: .seconds(30)).delay(beforeRetry: count - 1, fraction: 1)
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

  /// Finds the token of a URL, for all requests that share the result.
  private typealias Lookup = @Sendable () async throws -> Found

  private let options: CSRFOptions
  /// The partition of the cookies to which the tokens belong.
  private let partition: String
  /// The order of the writes.
  let lines = WriteLines()
  private let works = SharedWork<Key, Found>()
  private let memory = Mutex(Memory())
  private let signOut = SignOutMark()

  init(_ options: CSRFOptions, partition: String = "") {
    self.options = options
    self.partition = partition
  }

  /// Whether a call is part of a fetch. It needs no token, and the fetch itself stores the token of its response.
  func isFetch(_ call: Call) -> Bool { works.isDoing(call.parent) }

  /// Whether a write uses a token, or waits for one.
  var isInUse: Bool { !lines.isEmpty }

  /// The number of fetches that have begun.
  var begunFetches: Int { memory.withLock { $0.begun } }

  /// The number of fetches that have ended. A response's token is outdated if a fetch has ended since its request was
  /// sent.
  var generation: Int { memory.withLock { $0.ended } }

  /// Removes all tokens except those in the store, which the caller removes afterwards. The result of a running fetch
  /// is discarded, and its waiters get ``Martlet/HTTPError/signedOut``.
  func forget() {
    signOut.set()
    memory.withLock { $0.forget() }
    signOut.set()  // a request that began in between may have got a token
  }

  /// Returns the token of a URL, from the store or by a fetch.
  ///
  /// - Parameter skipsUnprotected: whether to skip the fetch if requests were accepted without a token before.
  func token(for url: URL, skipsUnprotected: Bool, in call: Call) async throws -> Found {
    try await shared(url, by: call) { [self] in
      if let token = await stored(url, in: call) { return Found(token: token) }
      if skipsUnprotected, memory.withLock({ $0[url].isUnprotected }) { return Found() }
      if await isTokenless(url, in: call) { return Found() }
      return try await fetch(url, in: call)
    } ?? Found()
  }

  /// Returns a token in place of a refused one: a newer one if there already is one, otherwise from a fetch.
  ///
  /// - Parameters:
  ///   - refused: the token of the request. If it had none, the stored token is used only if it was fetched since the
  ///     request was prepared: an older one may have expired, and the request is sent again only once.
  ///   - generation: the ``generation`` when the request was prepared.
  func replacement(
    for refused: String?, of url: URL, since generation: Int, in call: Call
  ) async throws -> Found? {
    let begun = memory.withLock { memory in
      memory[url].isUnprotected = false
      if let refused { memory[url].refuse(refused) }
      return memory.begun
    }
    if refused == nil, await isTokenless(url, in: call) { return nil }
    while true {
      let found = try await shared(url, by: call) { [self] in
        if let token = await stored(url, in: call), token != refused,
          refused != nil || wasFetched(url, since: generation)
        {
          return Found(token: token)
        }
        if refused != nil { try await store(nil, url, in: call) }
        return try await fetch(url, in: call)
      }
      guard let found else { return nil }
      // The work may have begun earlier, and returned the refused token or an old one.
      let isNew = refused == nil ? wasFetched(url, since: generation) : found.token != refused
      if isNew || found.fetch ?? 0 > begun { return found }
    }
  }

  /// Removes a refused token without getting another one.
  func discard(_ token: String, of url: URL, in call: Call) async {
    memory.withLock { $0[url].refuse(token) }
    if (try? await options.store.token(for: url)) == token { try? await store(nil, url, in: call) }
  }

  /// Whether a token is the one in use, or the last one that was refused.
  func isKnown(_ token: String, for url: URL) -> Bool {
    let known = memory.withLock { $0[url] }
    return known.token == token || known.refused == token
  }

  /// Stores a newer token from a response, unless a fetch has ended since its request was sent.
  func update(_ token: String, for url: URL, since generation: Int, in call: Call) async {
    let lookup: Lookup = { [self] in
      guard !wasFetched(url, since: generation), await stored(url, in: call) != token else {
        return Found(token: token)
      }
      try await store(token, url, in: call)
      return Found(token: token)
    }
    // The first result may come from work that began earlier. If that was a fetch, the generation has changed.
    for _ in 0..<2 where !wasFetched(url, since: generation) {
      guard let known = try? await shared(url, by: call, lookup), known.token != token else { return }
    }
  }

  /// Records that a request without a token was accepted.
  func markUnprotected(_ url: URL) { memory.withLock { $0[url].isUnprotected = true } }

  /// Records that a write was not refused. It may have ended its token. If it had none, the server does not require a
  /// token from every caller.
  func recordUse(of token: String?, for url: URL) {
    memory.withLock { memory in
      guard let token else { return memory[url].tokenless = nil }
      let others = memory[url].accepted.filter { $0 != token }
      memory[url].accepted = others.suffix(15) + [token]
    }
  }

  /// Whether one of the last writes that were not refused had this token.
  func isUsed(_ token: String?, for url: URL) -> Bool {
    memory.withLock { $0[url].accepted.contains { $0 == token } }
  }

  /// Whether the URL returned no token a short time ago, and the user has not signed in since.
  private func isTokenless(_ url: URL, in call: Call) async -> Bool {
    guard let known = memory.withLock({ $0[url].tokenless }) else { return false }
    guard await cookies(for: url, in: call) == known.cookies else {
      memory.withLock { $0[url].tokenless = nil }
      return false
    }
    return known.since.elapsed < Self.pause(after: known.count)
  }

  private func cookies(for url: URL, in call: Call) async -> String? {
    try? await call.session?.configuration.cookies?.partition(partition).cookieHeader(for: url)
  }

  /// Runs the lookup for a URL, or waits for the one that another request has begun. Returns nil if that one waits for
  /// this call.
  private func shared(_ url: URL, by call: Call, _ lookup: @escaping Lookup) async throws -> Found? {
    let lastSignOut = signOut.last  // Read before the check, so that work from after a sign-out is not joined.
    try signOut.check(call.id)
    let key = Key(url: url, signOut: lastSignOut, outer: call.parent.sharedWork)
    call.emit(.note("waits for the CSRF token"))
    let found = try await works.value(for: key, by: call, lookup)
    try signOut.check(call.id)
    return found
  }

  private func wasFetched(_ url: URL, since generation: Int) -> Bool {
    memory.withLock { $0[url].lastFetch } > generation
  }

  /// Fetches a token and stores it.
  private func fetch(_ url: URL, in call: Call) async throws -> Found {
    let number = memory.withLock { memory in
      memory.begun += 1
      return memory.begun
    }
    guard let session = call.session else { return Found(fetch: number) }
    let fetch = CSRFFetch(url: url, field: options.field, partition: partition, session: session, call: call)
    let (token, failure) = await fetch.token()
    let cookies = failure == .noToken ? await cookies(for: url, in: call) : nil
    memory.withLock { memory in
      memory.ended += 1
      memory[url].lastFetch = memory.ended
      if failure == .noToken {
        let count = (memory[url].tokenless?.count ?? 0) + 1
        memory[url].tokenless = Tokenless(
          since: Stopwatch(session.configuration.clock), count: count, cookies: cookies)
      }
      // The server returned the refused token again: something else was wrong, for example its cookie.
      if memory[url].refused == token { memory[url].refused = nil }
    }
    if let token { try await store(token, url, in: call) }
    return Found(token: token, fetch: number, isWithoutToken: token == nil && failure != .transient)
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
      let known = memory[url]
      // A store that failed to store the newer token still has the refused one.
      let isRefused = token != nil && token == known.refused
      if hasFailed || isRefused { token = known.token }
      return token == known.refused ? nil : token
    }
  }

  /// Stores a token; nil removes it.
  ///
  /// - Throws: ``Martlet/HTTPError/signedOut`` if the user has signed out since the call began. Nothing is stored then.
  ///   The store has its own lock, so a sign-out is checked for again after storing.
  private func store(_ token: String?, _ url: URL, in call: Call) async throws {
    try memory.withLock { memory in
      try signOut.check(call.id)
      memory[url].token = token
      if token != nil { (memory[url].isUnprotected, memory[url].tokenless) = (false, nil) }
    }
    do {
      try await options.store.setToken(token, for: url)
    } catch { call.emit(.note("the CSRF token store failed: \(error)")) }
    guard token != nil, signOut.isAfter(call.id) else { return }
    if (try? await options.store.token(for: url)) == token { try? await options.store.setToken(nil, for: url) }
    throw HTTPError.signedOut
  }
}
