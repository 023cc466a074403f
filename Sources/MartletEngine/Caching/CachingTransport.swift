import MartletSemantics
import Synchronization

/// Answers from the cache what may be answered from it, and keeps what may be kept. It obeys the rules of MartletSemantics:
/// `CachePlan` before the network is asked, `Reception` afterwards.
struct CachingTransport: Transport {
  let base: any Transport
  let cache: HTTPCache
  let clock: any Clock<Duration>

  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
    let lookup = Lookup(request, in: exchange)
    // A body is no part of the key, nor is a host that is not the URL's: what such a GET asks for, no other request asks for.
    guard request.method == .get || request.method == .head, request.body.isEmpty, !lookup.hasForeignHost else {
      return try await sendUncached(lookup)
    }
    return try await answer(lookup, mayWait: true)
  }

  /// One request on its way through the cache. An object, because a request is large and every step passes it on.
  final class Lookup: Sendable {
    let request: HTTPRequest
    let key: CacheKey
    let exchange: Exchange
    /// Whether the store may be looked at once more, because something was stored meanwhile.
    let looksAgain = Atomic(true)

    init(_ request: HTTPRequest, in exchange: Exchange) {
      self.request = request
      self.exchange = exchange
      key = CacheKey(request.url, partition: request.options.cachePartition)
    }

    var policy: CachePolicy { request.options.cachePolicy }

    var hasForeignHost: Bool { CacheKey.isForeignHost(in: request.head) }
  }

  private func answer(_ lookup: Lookup, mayWait: Bool) async throws -> HTTPResponse {
    let landings = cache.flights.landings
    var entries = await cache.attempt(in: lookup.exchange) { try await cache.store.entries(for: lookup.key) } ?? []
    if lookup.lacksCredentials { entries.removeAll { !Self.isForEverybody($0.response) } }
    let stored = entries.map { (response: $0.response, length: $0.length ?? 0) }
    let request = lookup.request.head
    let partition = lookup.key.partition
    switch CachePlan.make(for: request, policy: lookup.policy, stored: stored, in: partition, at: cache.now()) {
    case .serve(let place, let serving):
      guard let response = await serve(entries[place], to: lookup, as: serving == .fresh ? .cache : .stale) else {
        return try await ask(request, about: nil, for: lookup, flight: nil)
      }
      if case .staleWhileRevalidating(let head) = serving { revalidate(entries[place], with: head, for: lookup) }
      return response
    case .validate(let place, let head):
      return try await collapse(lookup, mayWait: mayWait, since: landings) { flight in
        try await ask(head, about: entries[place], for: lookup, flight: flight)
      }
    case .forward(let head):
      await makeRoom(among: entries, for: lookup)
      return try await collapse(lookup, mayWait: mayWait, since: landings) { flight in
        try await ask(head, about: nil, for: lookup, flight: flight)
      }
    case .answerGatewayTimeout:
      var response = HTTPResponse(status: .gatewayTimeout, url: lookup.request.url)
      response.source = .cache
      return response
    case .failNotCached:
      throw HTTPError(.notCached, "the request may only be answered from the cache, and nothing is stored for it")
    }
  }

  /// Whether an answer is the same with and without credentials.
  private static func isForEverybody(_ stored: StoredResponse) -> Bool {
    let fields = stored.head.fields
    return CacheControl(fields).contains("public")
      && !fields.list(.vary).contains { ASCII.equalIgnoringCase($0, "Authorization") }
  }

  /// Forgets the oldest variant where a key has many: what varies by a field that is never the same twice, a cookie say,
  /// would make every look-up slower than the last.
  private func makeRoom(among entries: [CacheEntry], for lookup: Lookup) async {
    guard entries.count >= Self.variantLimit,
      let oldest = entries.min(by: { $0.response.responseTime < $1.response.responseTime })
    else { return }
    _ = await cache.attempt(in: lookup.exchange) { try await cache.store.remove(.entry(oldest.id)) }
  }

  private static let variantLimit = 32

  /// Lets one of several identical requests go, and the others wait for what it brings.
  ///
  /// - Parameter landings: how many answers had been stored before the request looked for one: whoever came back between that
  ///   look and this call has brought what it looked for.
  private func collapse(
    _ lookup: Lookup, mayWait: Bool, since landings: Int, _ go: (CacheFlights.Flight?) async throws -> HTTPResponse
  ) async throws -> HTTPResponse {
    guard mayWait, lookup.isShareable else { return try await go(nil) }
    switch cache.flights.join(RequestRoute(lookup.key, lookup.request.fields)) {
    case .alone: return try await go(nil)
    case .leader(let flight):
      guard cache.flights.landings != landings, lookup.looksAgain.exchange(false, ordering: .relaxed) else {
        return try await go(flight)
      }
      flight.end(.abandoned)
      return try await answer(lookup, mayWait: mayWait)
    case .follower(let gate):
      cache.count { $0.collapsed += 1 }
      lookup.exchange.emit(.note("an identical request is on its way: waiting for what it brings"))
      let end = try await wait(for: gate, at: lookup)
      return try await answer(lookup, mayWait: end == .abandoned)
    }
  }

  /// Waits no longer than for a response of the request's own.
  private func wait(for gate: AnswerGate<CacheFlights.End>, at lookup: Lookup) async throws -> CacheFlights.End {
    guard let timeout = lookup.request.options.responseTimeout else { return try await gate.wait() }
    do {
      return try await Deadline(timeout, on: clock).holding { try await gate.wait() }
    } catch let error as HTTPError where error.kind == .deadlineExceeded {
      return .released
    }
  }
}

extension CachingTransport.Lookup {
  /// Whether the request is without the credentials that it should have, and no name stands for its user: it looks like a
  /// guest's, but a guest's answers are not for it.
  var lacksCredentials: Bool { request.options.obstacle != nil && key.partition.isEmpty }

  /// Whether the answer may well be one for others, too. What does not reach the network brings none, nor is it to get one that
  /// was asked for without credentials.
  var isShareable: Bool {
    request.options.obstacle == nil && policy != .reloadIgnoringCacheData && policy != .reloadRevalidatingCacheData
      && RequestRoute.isShared(by: request)
  }
}
