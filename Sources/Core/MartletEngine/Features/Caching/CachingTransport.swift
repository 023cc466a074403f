import MartletSemantics

/// Answers requests from the cache, and stores responses.
///
/// It follows the rules of MartletSemantics: `CachePlan` before a request is sent, `CacheUpdate` when there is a
/// response. ``CacheTransaction`` handles its relation to other running requests.
struct CachingTransport: Transport, DeadlineAware {
  let base: any Transport
  let cache: HTTPCache
  let clock: any Clock<Duration>
  var endsAtDeadline: Bool { Deadline.ends(cache.store) && Deadline.ends(base) }

  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let transaction = CacheTransaction(request, in: call, of: cache)
    guard transaction.isCacheable else { return try await sendUncached(transaction) }
    var unreadable: Set<CacheEntry.ID> = []
    var step = try firstStep(of: transaction)
    while true {
      switch step {
      case .send(let sent): return try await fetch(sent, for: transaction)
      case .answer(let response): return response
      default: step = try await self.step(of: transaction, after: step, without: &unreadable)
      }
    }
  }

  /// What the transport does next.
  private enum Step {
    /// Send the request, which has started.
    case send(OriginRequest)
    case answer(HTTPResponse)
    indirect case serve(CacheEntry, CachePlan.Serving)
    /// Wait for an identical request, then look again.
    case wait(RunningWork<CacheTransaction.Outcome>)
    /// Ask other processes first whether one of them is sending an identical request.
    case ask(OriginRequest)
    case lookUp
  }

  // The functions below are not inlined: their variables would take space in the frame of `send`, which every waiting
  // call keeps.

  /// Looks up the stored responses and answers with one, unless that requires an `await`.
  @inline(never)
  private func firstStep(of transaction: CacheTransaction) throws -> Step {
    let storedCount = cache.transactions.storedCount
    guard let entries = cache.blockingEntries(for: transaction), entries.count < HTTPCache.variantLimit else {
      return .lookUp
    }
    let step = try step(of: transaction, among: entries, since: storedCount)
    guard case .serve(let entry, .fresh) = step,
      case .now(let response?) = response(from: entry, as: .cache, to: transaction)
    else { return step }
    return .answer(response)
  }

  /// Performs a step, and then looks up the stored responses again unless the request is answered or has to be sent.
  @inline(never)
  private func step(
    of transaction: CacheTransaction, after step: Step, without unreadable: inout Set<CacheEntry.ID>
  ) async throws -> Step {
    switch step {
    case .send, .answer: return step
    case .serve(let entry, let serving):
      let source = serving == .fresh ? ResponseSource.cache : .stale
      if let response = await readableResponse(from: entry, as: source, to: transaction) {
        if case .staleWhileRevalidating(let head) = serving {
          revalidate(OriginRequest(head, validating: entry), for: transaction)
        }
        return .answer(response)
      }
      unreadable.insert(entry.id)
    case .wait(let result): try await transaction.wait(for: result, on: clock)
    case .ask(let sent):
      guard try await transaction.isAnswerLikely(on: clock) else { return .send(sent) }
    case .lookUp: break
    }
    let storedCount = cache.transactions.storedCount
    let entries = await cache.entries(for: transaction).filter { [unreadable] in !unreadable.contains($0.id) }
    let next = try self.step(of: transaction, among: entries, since: storedCount)
    if case .send(let sent) = next, sent.known == nil { await cache.removeOldest(of: entries, for: transaction) }
    return next
  }

  @inline(never)
  private func step(
    of transaction: CacheTransaction, among entries: [CacheEntry], since storedCount: Int
  ) throws -> Step {
    let sent: OriginRequest
    switch transaction.plan(among: entries) {
    case .serve(let index, let serving): return .serve(entries[index], serving)
    case .validate(let index, let head): sent = OriginRequest(head, validating: entries[index])
    case .select(let indices, let head): sent = OriginRequest(head, offering: indices.map { entries[$0] })
    case .combine(let index, let head): sent = OriginRequest(head, joining: entries[index])
    case .forward(let head): sent = OriginRequest(head)
    case .answerGatewayTimeout:
      var response = HTTPResponse(status: .gatewayTimeout, url: transaction.request.url)
      response.source = .cache
      return .answer(response)
    case .failNotCached:
      throw HTTPError(.notCached, "the cache policy forbids network access, and no stored response can be used")
    }
    return switch transaction.start(since: storedCount) {
    case .started: transaction.asksOthers ? .ask(sent) : .send(sent)
    case .outdated: .lookUp
    case .identical(let result): .wait(result)
    }
  }

  // MARK: From the store

  /// Returns the stored response, without suspending if the store has its body at hand; nil if the body cannot be read.
  ///
  /// - Parameter received: The response that it replaces.
  @inline(never)
  private func response(
    from entry: CacheEntry, as source: ResponseSource, to transaction: CacheTransaction,
    replacing received: HTTPResponse? = nil
  ) -> Immediate<HTTPResponse?> {
    let answer = answer(with: entry, as: source, to: transaction)
    if answer.range.isEmpty { return .now(response(answer, .empty, as: source, to: transaction, replacing: received)) }
    if let bytes = cache.immediate?.blockingBytes(of: entry.id, range: answer.range) {
      return .now(response(answer, ResponseBody(bytes), as: source, to: transaction, replacing: received))
    }
    return .later {
      guard let stored = await StoredBody.open(entry.id, range: answer.range, of: cache, in: transaction.call) else {
        return nil
      }
      let body = ResponseBody(length: Int64(answer.range.count), from: stored)
      return response(answer, body, as: source, to: transaction, replacing: received)
    }
  }

  /// Does the same with an `await`. The body of the replaced response is discarded.
  private func readableResponse(
    from entry: CacheEntry, as source: ResponseSource, to transaction: CacheTransaction,
    replacing received: HTTPResponse? = nil
  ) async -> HTTPResponse? {
    let response = try? await response(from: entry, as: source, to: transaction, replacing: received).value()
    if response != nil { await received?.discardBody() }
    return response
  }

  private func answer(
    with entry: CacheEntry, as source: ResponseSource, to transaction: CacheTransaction
  ) -> StoredAnswer {
    StoredAnswer(
      of: entry.response, length: entry.length ?? 0, to: transaction.request.head, at: cache.now(),
      isConfirmed: source == .revalidated)
  }

  private func response(
    _ answer: StoredAnswer, _ body: ResponseBody, as source: ResponseSource, to transaction: CacheTransaction,
    replacing received: HTTPResponse?
  ) -> HTTPResponse {
    transaction.call.emit(.cached(source))
    cache.count { $0.add(source) }
    return HTTPResponse(
      url: transaction.request.url, head: answer.head, body: body, networkHead: received?.networkHead, from: source)
  }

  /// Validates a stale response in the background (RFC 5861 §3). An entry is validated once at a time.
  private func revalidate(_ sent: OriginRequest, for transaction: CacheTransaction) {
    guard let entry = sent.entry, cache.beginRevalidation(of: entry.id) else { return }
    var request = transaction.request
    request.options.isCollected = false
    request.options.storesResponse = true  // even if a download started it
    // A separate call: for listeners, the first one ends with its response.
    let call = Call(runner: transaction.call.runner, asked: nil, listeners: [], deadline: nil)
    call.takeLocals(of: transaction.call)
    let background = CacheTransaction(request, in: call, of: cache)
    background.start()  // now, so that a later removal includes its response
    Task {
      defer { cache.endRevalidation(of: entry.id) }
      guard await background.mayRevalidate(entry) else { return background.finish(.abandoned) }
      guard let response = try? await fetch(sent, for: background) else { return }
      var body = response.body.makeAsyncIterator()
      while (try? await body.next()) != nil {}
    }
  }

  // MARK: From the origin

  /// Sends a request to the origin and processes the response by the rules.
  ///
  /// - Parameters:
  ///   - sent: The request.
  ///   - transaction: The request as its caller made it. The transaction has started.
  private func fetch(_ sent: OriginRequest, for transaction: CacheTransaction) async throws -> HTTPResponse {
    let requestTime = cache.now()
    let response: HTTPResponse
    do {
      response = try await base.send(transaction.request.with(sent.head.fields), in: transaction.call)
    } catch {
      return try await stale(sent.entry, insteadOf: error, to: transaction)
    }
    let update = transaction.update(after: response, to: sent, sentAt: requestTime)
    guard case .ignore = update else { return try await apply(update, of: response, to: sent, for: transaction) }
    transaction.finish(.unstorable, after: response.status)
    cache.count { $0.misses += 1 }
    return response
  }

  /// Returns the stored response instead of an error, if the rules allow that.
  private func stale(
    _ entry: CacheEntry?, insteadOf error: any Error, to transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    let failure = HTTPError(wrapping: error)
    transaction.finish(after: failure)
    guard let entry, let use = transaction.staleUse(of: entry, after: failure),
      let stale = await readableResponse(from: entry, as: ResponseSource(use), to: transaction)
    else { throw error }
    return stale
  }

  /// Processes a response by the rules.
  private func apply(
    _ update: CacheUpdate, of response: HTTPResponse, to sent: OriginRequest, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    switch (update, sent.known) {
    case (.extend, _) where !transaction.stores(response): transaction.finish(.unshared)
    case (.store, let entry) where !transaction.stores(response):
      if let entry { await cache.remove(.entry(entry.id), for: transaction) }
      transaction.finish(.unshared)
    case (.store(let stored), let entry):
      if let entry, stored.replaces(entry.response) { await cache.remove(.entry(entry.id), for: transaction) }
      return await store(response, as: stored, for: transaction)
    case (.extend(let joined), let entry?):
      return await extend(entry, by: response, to: joined, for: transaction)
    case (.complete(let whole, let isStored), let entry?):
      return try await complete(entry, by: response, to: whole, isStored: isStored, for: transaction)
    case (.confirm(let merged), let entry?):
      return try await confirm(entry, as: merged, by: response, for: transaction)
    case (.select(let index, let merged), _):
      return try await confirm(sent.offered[index], as: merged, by: response, for: transaction)
    case (.repeatWithoutConditions, let entry):
      if let entry { await cache.remove(.entry(entry.id), for: transaction) }
      return try await fetchAgain(instead: response, for: transaction)
    case (.serveStale(let use), let entry?):
      transaction.finish(.unshared, after: response.status)
      let stale = await readableResponse(from: entry, as: ResponseSource(use), to: transaction, replacing: response)
      if let stale { return stale }
    case (.update(let updated), let entry?):
      await cache.update(entry, to: updated, for: transaction)
      transaction.finish(.unshared)
    case (.remove, let entry?):
      await cache.remove(.entry(entry.id), for: transaction)
      transaction.finish(.unstorable, after: response.status)
    default:
      transaction.finish(.unstorable, after: response.status)
    }
    cache.count { $0.misses += 1 }
    return response
  }

  /// Returns the stored response that the origin has validated, updated with this one.
  private func confirm(
    _ entry: CacheEntry, as merged: StoredResponse, by response: HTTPResponse, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    let updated = await cache.update(entry, to: merged, for: transaction)
    guard let confirmed = await readableResponse(from: updated, as: .revalidated, to: transaction, replacing: response)
    else { return try await fetchAgain(instead: response, for: transaction) }
    transaction.finish(.stored)
    return confirmed
  }

  /// Sends the caller's request, without the cache's conditions and range, in place of an unusable response.
  func fetchAgain(instead response: HTTPResponse, for transaction: CacheTransaction) async throws -> HTTPResponse {
    await response.discardBody()
    return try await fetch(OriginRequest(transaction.request.head), for: transaction)
  }

  /// Returns the response with a body that is stored while it is read.
  ///
  /// - Parameter part: The matching stored part.
  func store(
    _ response: HTTPResponse, as stored: StoredResponse, for transaction: CacheTransaction, with part: PartOfBody? = nil
  ) async -> HTTPResponse {
    cache.count { $0.misses += 1 }
    let entry = CacheEntry(key: transaction.key, response: stored, length: part?.length ?? response.body.length)
    let base = await cache.attempt(in: transaction.call) { try await cache.store.begin(entry) }
    guard let writer = part?.writer(around: base, of: entry, in: cache.store) ?? base else {
      transaction.finish(.unshared)
      return response
    }
    cache.transactions.removeUnstorable(transaction.key)
    // A reader may take any time, and may wait for a request that waits for this response. The body of a refusal or a
    // temporary error may never be read because the request is sent again, and a body that is too long is not read to
    // its end.
    if !transaction.request.options.isCollected || response.body.length ?? 0 > transaction.longestBody
      || CacheUpdate.isRefusalOrTemporaryError(stored.head.status)
    {
      transaction.releaseWaiters(FlightOutcome(.unshared, after: stored.head.status))
    }
    let body = StoringBody(response.expectedBody, of: entry, to: writer, for: transaction)
    if response.body.length == 0 {  // A reader may not ask for the end of an empty body.
      _ = try? await transaction.call.holding { try await body.next() }
    }
    var response = response
    response.body = ResponseBody(length: response.body.length, from: body)
    return response
  }

  /// Sends a request that no stored response can answer. If it changes something at the origin, the stored responses
  /// that become invalid are removed.
  private func sendUncached(_ transaction: CacheTransaction) async throws -> HTTPResponse {
    guard transaction.policy != .returnCacheDataDontLoad else {
      throw HTTPError(
        .notCached,
        "the cache policy forbids network access, and only a GET or HEAD request without a body, to the host of its "
          + "URL, can be answered from the cache")
    }
    let request = transaction.request.head
    let requestTime = cache.now()
    // Started now, so that a later removal includes its response.
    if request.method == .post, !transaction.hasForeignHost { transaction.start() }
    let response = try await base.send(transaction.request, in: transaction.call)
    for key in InvalidationRule.keys(after: response.head, to: request, partition: transaction.key.partition) {
      await cache.remove(.key(key), for: transaction)
    }
    guard transaction.canStore, transaction.request.options.storesResponse,
      case .store(let stored) = transaction.update(after: response, to: OriginRequest(request), sentAt: requestTime)
    else { return response }
    return await store(response, as: stored, for: transaction)
  }
}

/// A request on its way to the origin. It is a class, because every waiting call would keep a copy.
final class OriginRequest: Sendable {
  /// The head as it is sent.
  let head: RequestHead
  /// The stored response to validate; nil if there is none.
  let entry: CacheEntry?
  /// The stored responses that do not match the request, but whose entity tags it carries.
  let offered: [CacheEntry]
  /// The stored part of the response; nil if there is none.
  let part: CacheEntry?

  init(
    _ head: RequestHead, validating entry: CacheEntry? = nil, offering offered: [CacheEntry] = [],
    joining part: CacheEntry? = nil
  ) {
    self.head = head
    self.entry = entry
    self.offered = offered
    self.part = part ?? entry.flatMap { $0.response.part == nil ? nil : $0 }
  }

  /// The stored response that a response replaces.
  var known: CacheEntry? { entry ?? part }
}

extension HTTPRequest {
  /// Returns the request with these fields.
  fileprivate func with(_ fields: HTTPFields) -> HTTPRequest {
    guard fields != self.fields else { return self }
    var request = self
    request.fields = fields
    return request
  }
}

extension ResponseSource {
  fileprivate init(_ use: StaleFallback.Use) { self = use == .offline ? .offline : .stale }
}
