import MartletSemantics
import Synchronization

/// The tokens of one interceptor: looked up, fetched once for all who need them, learnt from responses.
///
/// A token and the session cookie that came with it are one pair. Two fetches at a time would leave the token of one with
/// the cookie of the other, so there is one at a time for a URL, and whoever needs a token waits for it.
final class CSRFTokens: Sendable {
  private struct Memory {
    /// For a store that fails.
    var mirror: [URL: String] = [:]
    /// URLs behind which requests without a token were accepted.
    var unprotected: Set<URL> = []
    /// How many fetches have ended.
    var fetches = 0
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
  func replacement(for refused: String?, of url: URL, in exchange: Exchange) async throws -> String? {
    memory.withLock { _ = $0.unprotected.remove(url) }
    while true {
      let found = try await shared(url) { [self] in
        if let token = await stored(url, in: exchange) {
          if token != refused { return Found(token: token) }
          await store(nil, url, in: exchange)
        }
        return try await fetch(url, in: exchange)
      }
      // a search of the store that was under way may have found the refused one
      if found.isFetched || found.token != refused { return found.token }
    }
  }

  /// Takes a newer token from a response, unless there was a fetch since its request went out.
  func learn(_ token: String, for url: URL, since generation: Int, in exchange: Exchange) async {
    let work: Work = { [self] in
      guard generation == self.generation, await stored(url, in: exchange) != token else { return Found(token: token) }
      await store(token, url, in: exchange)
      return Found(token: token)
    }
    // a look into the store may have been under way; a fetch leaves another generation
    for _ in 0..<2 where generation == self.generation {
      guard let known = try? await shared(url, work), known.token != token else { return }
    }
  }

  /// One at a time for a URL. Only who works for somebody else does not wait for what others began: the renewal of a
  /// credential, say, may send a request that needs a CSRF token while the fetch of that waits for the credential.
  private func shared(_ url: URL, _ work: @escaping Work) async throws -> Found {
    try await flight.value(for: Key(url: url, owners: StepAside.owners), work)
  }

  /// A request without a token was accepted.
  func remember(unprotected url: URL) { memory.withLock { _ = $0.unprotected.insert(url) } }

  // MARK: - The store

  private func stored(_ url: URL, in exchange: Exchange) async -> String? {
    do {
      return try await options.store.token(for: url)
    } catch {
      exchange.emit(.note("the CSRF token store failed: \(error)"))
      return memory.withLock { $0.mirror[url] }
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

  // MARK: - The fetch

  /// Asks until there is a token. That there is none is nothing to remember: an unauthenticated fetch finds none either.
  private func fetch(_ url: URL, in exchange: Exchange) async throws -> Found {
    guard let session = exchange.session else { return Found(isFetched: true) }
    let token = await stepAside.perform { await ask(session, url, in: exchange) }
    memory.withLock { $0.fetches += 1 }
    if let token { await store(token, url, in: exchange) }
    return Found(token: token, isFetched: true)
  }

  private func ask(_ session: HTTPSession, _ url: URL, in exchange: Exchange) async -> String? {
    for question in CSRFRule.questions(for: url) {
      var request = HTTPRequest(question.method, question.url, fields: [options.field: "Fetch"])
      request.options.cachePolicy = .reloadIgnoringCacheData
      do throws(HTTPError) {
        let (body, response) = try await session.bytes(for: request)
        defer { body.cancel() }
        // a token that another origin gives, after a redirect to a logon page say, is not for this one
        guard Origin(response.url) == Origin(url) else { continue }
        if let token = CSRFRule.token(in: response.head, field: options.field) { return token }
        if response.status == .unauthorized { break }
      } catch {
        exchange.emit(.note("the CSRF token could not be fetched: \(error.message)"))
        return nil
      }
    }
    exchange.emit(.note("\(url.redacted) gives no CSRF token"))
    return nil
  }
}
