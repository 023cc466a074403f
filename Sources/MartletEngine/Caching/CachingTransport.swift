import MartletSemantics

/// Answers requests from the cache, and stores responses.
///
/// It follows the rules of MartletSemantics: `CachePlan` before a request is sent, `CacheUpdate` when there is a
/// response. What concerns other requests that are under way is in ``CacheTransaction``.
struct CachingTransport: Transport, DeadlineAware {
  let base: any Transport
  let cache: HTTPCache
  let clock: any Clock<Duration>
  var endsAtDeadline: Bool { Deadline.ends(cache.store) && Deadline.ends(base) }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let transaction = CacheTransaction(request, in: call, of: cache)
    guard transaction.isCacheable else { return try await sendUncached(transaction) }
    var unreadable: Set<CacheEntry.ID> = []
    while true {
      let storedCount = cache.transactions.storedCount
      var entries = await cache.entries(for: transaction)
      if !unreadable.isEmpty { entries.removeAll { unreadable.contains($0.id) } }
      switch transaction.plan(among: entries) {
      case .serve(let index, let serving):
        let source = serving == .fresh ? ResponseSource.cache : .stale
        guard let response = await response(from: entries[index], as: source, to: transaction) else {
          unreadable.insert(entries[index].id)
          continue
        }
        if case .staleWhileRevalidating(let head) = serving { revalidate(entries[index], with: head, for: transaction) }
        return response
      case .validate(let index, let head):
        guard try await transaction.start(since: storedCount, on: clock) else { continue }
        return try await fetch(head, validating: entries[index], for: transaction)
      case .forward(let head):
        guard try await transaction.start(since: storedCount, on: clock) else { continue }
        await cache.removeOldest(of: entries, for: transaction)
        return try await fetch(head, for: transaction)
      case .answerGatewayTimeout:
        var response = HTTPResponse(status: .gatewayTimeout, url: request.url)
        response.source = .cache
        return response
      case .failNotCached:
        throw HTTPError(.notCached, "the cache policy forbids network access, and no stored response can be used")
      }
    }
  }

  // MARK: From the store

  /// Returns the stored response; nil if its body cannot be read.
  ///
  /// - Parameter received: The response that it replaces.
  private func response(
    from entry: CacheEntry, as source: ResponseSource, to transaction: CacheTransaction,
    replacing received: HTTPResponse? = nil
  ) async -> HTTPResponse? {
    let request = transaction.request
    let answer = StoredAnswer(
      of: entry.response, length: entry.length ?? 0, to: request.head, at: cache.now(),
      isConfirmed: source == .revalidated)
    var response = HTTPResponse(status: answer.head.status, fields: answer.head.fields, url: request.url)
    response.head = answer.head
    response.networkHead = received?.networkHead
    response.source = source
    if !answer.range.isEmpty {
      guard let body = await StoredBody.open(entry.id, range: answer.range, of: cache, in: transaction.call) else {
        return nil
      }
      response.body = ResponseBody(length: Int64(answer.range.count), from: body)
    }
    transaction.call.emit(.cached(source))
    cache.count { $0.add(source) }
    await received?.discardBody()
    return response
  }

  /// Validates a stale response in the background (RFC 5861 §3), once at a time for an entry.
  private func revalidate(_ entry: CacheEntry, with head: RequestHead, for transaction: CacheTransaction) {
    guard cache.beginRevalidation(of: entry.id) else { return }
    var request = transaction.request
    request.options.isCollected = false
    request.options.storesResponse = true  // also where a download started it
    // A call of its own: for listeners, the first one ends with its response.
    let call = Call(session: transaction.call.session)
    call.takeLocals(of: transaction.call)
    let background = CacheTransaction(request, in: call, of: cache)
    background.start()  // now, so that a removal that comes next includes its response
    Task {
      defer { cache.endRevalidation(of: entry.id) }
      guard let response = try? await fetch(head, validating: entry, for: background) else { return }
      var body = response.body.makeAsyncIterator()
      while (try? await body.next()) != nil {}
    }
  }

  // MARK: From the origin

  /// Sends the request to the origin, and does with the response what the rules say.
  ///
  /// - Parameters:
  ///   - head: The request as it is sent.
  ///   - entry: The stored response that it validates.
  ///   - transaction: The request, which has started.
  private func fetch(
    _ head: RequestHead, validating entry: CacheEntry? = nil, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    var request = transaction.request
    request.fields = head.fields
    let context = transaction.context(sending: head, validating: entry)
    let response: HTTPResponse
    do { response = try await base.send(request, in: transaction.call) } catch {
      transaction.finish(after: HTTPError(wrapping: error))
      guard let entry, let use = transaction.staleUse(of: entry, after: HTTPError(wrapping: error)),
        let stale = await self.response(from: entry, as: ResponseSource(use), to: transaction)
      else { throw error }
      return stale
    }
    let update = CacheUpdate.of(response.head, to: context, at: cache.now(), isUnpacked: response.isUnpacked)
    switch (update, entry) {
    case (.store, _) where !request.options.storesResponse:
      if let entry { await cache.remove(.entry(entry.id), for: transaction) }
      transaction.finish(.unshared)
    case (.store(let stored), _):
      return await store(response, as: stored, for: transaction)
    case (.confirm(let merged), let entry?):
      let updated = await cache.update(entry, to: merged, for: transaction)
      guard let confirmed = await self.response(from: updated, as: .revalidated, to: transaction, replacing: response)
      else { return try await fetch(transaction.request.head, for: transaction) }
      transaction.finish(.stored)
      return confirmed
    case (.repeatWithoutConditions, let entry?):
      await response.discardBody()
      await cache.remove(.entry(entry.id), for: transaction)
      return try await fetch(transaction.request.head, for: transaction)
    case (.serveStale(let use), let entry?):
      transaction.finish(.unshared)
      let stale = await self.response(from: entry, as: ResponseSource(use), to: transaction, replacing: response)
      if let stale { return stale }
    case (.update(let updated), let entry?):
      await cache.update(entry, to: updated, for: transaction)
      transaction.finish(.unshared)
    case (.remove, let entry?):
      await cache.remove(.entry(entry.id), for: transaction)
      transaction.finish(.unstorable)
    default:
      transaction.finish(.unstorable)
    }
    cache.count { $0.misses += 1 }
    return response
  }

  /// Returns the response with a body that is stored while it is read.
  private func store(
    _ response: HTTPResponse, as stored: StoredResponse, for transaction: CacheTransaction
  ) async -> HTTPResponse {
    cache.count { $0.misses += 1 }
    let entry = CacheEntry(key: transaction.key, response: stored, length: response.body.length)
    let writer = await cache.attempt(in: transaction.call) { try await cache.store.begin(entry) }
    guard let writer else {
      transaction.finish(.unshared)
      return response
    }
    cache.transactions.removeUnstorable(transaction.key)
    // A reader may take any time, and may wait for a request that waits for this response. The body of a refusal or a
    // temporary error may never be read, because the request is sent again.
    if !transaction.request.options.isCollected || CacheUpdate.isRefusalOrTemporaryError(stored.head.status) {
      transaction.releaseWaiters()
    }
    let body = StoringBody(response.body, of: entry, to: writer, for: transaction)
    if response.body.length == 0 {  // A reader may not ask for the end of an empty body.
      _ = try? await transaction.call.holding { try await body.next() }
    }
    var response = response
    response.body = ResponseBody(length: response.body.length, from: body)
    return response
  }

  /// Sends a request that no stored response can answer. If it changes something at the origin, the stored responses
  /// that it makes invalid are removed.
  private func sendUncached(_ transaction: CacheTransaction) async throws -> HTTPResponse {
    guard transaction.policy != .returnCacheDataDontLoad else {
      throw HTTPError(
        .notCached,
        "the cache policy forbids network access, and only a GET or HEAD request without a body, to the host of its "
          + "URL, can be answered from the cache")
    }
    let request = transaction.request.head
    var context = transaction.context(sending: request)
    context.policy = .useProtocolCachePolicy
    // Now, so that a removal that comes next includes its response.
    if request.method == .post, !transaction.hasForeignHost { transaction.start() }
    let response = try await base.send(transaction.request, in: transaction.call)
    for key in InvalidationRule.keys(after: response.head, to: request, partition: transaction.key.partition) {
      await cache.remove(.key(key), for: transaction)
    }
    guard transaction.canStore, transaction.request.options.storesResponse,
      case .store(let stored) = CacheUpdate.of(
        response.head, to: context, at: cache.now(), isUnpacked: response.isUnpacked)
    else { return response }
    return await store(response, as: stored, for: transaction)
  }
}

extension ResponseSource {
  fileprivate init(_ use: StaleFallback.Use) { self = use == .offline ? .offline : .stale }
}
