import MartletSemantics
import Synchronization

/// The tokens of one interceptor: looked up, fetched once for all who need them, learnt from responses, and never handed out
/// again once they were refused.
final class CSRFTokens: Sendable {
  private struct Memory {
    /// For a store that fails.
    var mirror: [URL: String] = [:]
    /// URLs behind which requests without a token were accepted.
    var unprotected: Set<URL> = []
    /// The token of each URL that was refused last.
    var refused: [URL: String] = [:]
    /// How many fetches have ended.
    var fetches = 0
    /// The number of the fetch that ended last for a URL.
    var lastFetch: [URL: Int] = [:]
  }

  private struct Found {
    var token: String?
    /// Whether it was asked for, and not found in the store.
    var isFetched = false
  }

  /// What is shared: the work for a URL, by those who work for the same owners.
  private struct Key: Hashable {
    let url: URL
    let owners: Set<ObjectIdentifier>
  }

  private typealias Work = @Sendable () async throws -> Found

  private let options: CSRFOptions
  private let stepAside: StepAside
  private let flight = SingleFlight<Key, Found>()
  private let memory = Mutex(Memory())

  init(_ options: CSRFOptions, stepAside: StepAside) {
    self.options = options
    self.stepAside = stepAside
  }

  /// Rises with every fetch: what a response says of a token is old if there was a fetch since its request was sent.
  var generation: Int { memory.withLock { $0.fetches } }

  /// The token of a URL, from the store or fetched.
  ///
  /// - Parameter mustHold: Whether it is worth asking a server that seems to need no token.
  func token(for url: URL, mustHold: Bool, in exchange: Exchange) async throws -> String? {
    try await shared(url) { [self] in
      if let token = await stored(url, in: exchange) { return Found(token: token) }
      if !mustHold, memory.withLock({ $0.unprotected.contains(url) }) { return Found() }
      return try await fetch(url, in: exchange)
    }.token
  }

  /// A token in place of one that was refused: what others have got meanwhile, or a new one.
  ///
  /// - Parameters:
  ///   - refused: what the request carried. Where it carried none, the stored token is used only if it was fetched since the
  ///     request was prepared: an older one may have expired, and the request is sent again once only.
  ///   - generation: that of the time when the request was prepared.
  func replacement(
    for refused: String?, of url: URL, since generation: Int, in exchange: Exchange
  ) async throws -> String? {
    memory.withLock { memory in
      memory.unprotected.remove(url)
      if let refused { memory.refused[url] = refused }
    }
    while true {
      let found = try await shared(url) { [self] in
        if let token = await stored(url, in: exchange), refused != nil || wasFetched(url, since: generation) {
          return Found(token: token)
        }
        if refused != nil { await store(nil, url, in: exchange) }
        return try await fetch(url, in: exchange)
      }
      // a search of the store that was under way may have found the refused one, or an old one
      let isNew = refused == nil ? wasFetched(url, since: generation) : found.token != refused
      if found.isFetched || isNew { return found.token }
    }
  }

  /// Takes a token out of use that was refused, and which no other was wanted for.
  func discard(_ token: String, of url: URL, in exchange: Exchange) async {
    memory.withLock { $0.refused[url] = token }
    if (try? await options.store.token(for: url)) == token { await store(nil, url, in: exchange) }
  }

  /// Whether the token is the one in use, or one that was refused: whether there is nothing to learn from it.
  func isKnown(_ token: String, for url: URL) -> Bool {
    memory.withLock { $0.mirror[url] == token || $0.refused[url] == token }
  }

  /// Takes a newer token from a response, unless there was a fetch since its request went out.
  func learn(_ token: String, for url: URL, since generation: Int, in exchange: Exchange) async {
    let work: Work = { [self] in
      guard !wasFetched(url, since: generation), await stored(url, in: exchange) != token else {
        return Found(token: token)
      }
      await store(token, url, in: exchange)
      return Found(token: token)
    }
    // a look into the store may have been under way; a fetch leaves another generation
    for _ in 0..<2 where !wasFetched(url, since: generation) {
      guard let known = try? await shared(url, work), known.token != token else { return }
    }
  }

  /// A request without a token was accepted.
  func remember(unprotected url: URL) { memory.withLock { _ = $0.unprotected.insert(url) } }

  /// One at a time for a URL. Only who works for somebody else does not wait for what others began: the renewal of a
  /// credential, say, may send a request that needs a CSRF token while the fetch of that waits for the credential.
  private func shared(_ url: URL, _ work: @escaping Work) async throws -> Found {
    try await flight.value(for: Key(url: url, owners: StepAside.owners), work)
  }

  private func wasFetched(_ url: URL, since generation: Int) -> Bool {
    memory.withLock { $0.lastFetch[url] ?? 0 } > generation
  }

  /// Asks for a token. That there is none is nothing to remember: an unauthenticated fetch finds none either.
  private func fetch(_ url: URL, in exchange: Exchange) async throws -> Found {
    guard let session = exchange.session else { return Found(isFetched: true) }
    let fetch = CSRFFetch(url: url, field: options.field, session: session, exchange: exchange)
    let token = await stepAside.perform { await fetch.token() }
    memory.withLock { memory in
      memory.fetches += 1
      memory.lastFetch[url] = memory.fetches
      // the server gives it again, so that something else was wrong: its cookie, for example
      if memory.refused[url] == token { memory.refused[url] = nil }
    }
    if let token { await store(token, url, in: exchange) }
    return Found(token: token, isFetched: true)
  }

  // MARK: The store

  /// The stored token, if it was not refused.
  private func stored(_ url: URL, in exchange: Exchange) async -> String? {
    var token: String?
    var hasFailed = false
    do {
      token = try await options.store.token(for: url)
    } catch {
      exchange.emit(.note("the CSRF token store failed: \(error)"))
      hasFailed = true
    }
    return memory.withLock { memory in
      // a store that could not take a newer one still has the one that was refused
      let isRefused = token != nil && token == memory.refused[url]
      if hasFailed || isRefused { token = memory.mirror[url] }
      return token == memory.refused[url] ? nil : token
    }
  }

  private func store(_ token: String?, _ url: URL, in exchange: Exchange) async {
    memory.withLock { memory in
      memory.mirror[url] = token
      if token != nil { memory.unprotected.remove(url) }
    }
    do {
      try await options.store.setToken(token, for: url)
    } catch { exchange.emit(.note("the CSRF token store failed: \(error)")) }
  }
}
