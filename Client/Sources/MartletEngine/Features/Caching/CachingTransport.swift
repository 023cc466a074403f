import MartletSemantics

/// Answers requests from the cache, and stores responses.
///
/// It follows the rules of MartletSemantics: `CachePlan` before a request is sent, `CacheUpdate` when there is a
/// response. ``CacheTransaction`` handles its relation to other running requests.
struct CachingTransport: Transport, DeadlineAware {
  let base: any Transport
  let cache: HTTPCache
  let clock: any Clock<Duration>
  var endsAtDeadline: Bool { Deadline.isKept(by: cache.store) && Deadline.isKept(by: base) }

  /// Looks up the stored responses until one of them answers the request, or the request has to be sent.
  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    var transaction = CacheTransaction(request, in: call, of: cache)
    if transaction.uncacheable != nil {
      if case .unreadQuery = transaction.uncacheable { transaction = try await withContent(transaction) }
      if let uncacheable = transaction.uncacheable { return try await sendUncached(transaction, because: uncacheable) }
    }
    var unreadable: Set<CacheEntry.ID> = []
    var step = try firstStep(for: transaction)
    while true {
      switch step {
      case .send(let sent): return try await fetch(sent, for: transaction)
      case .answer(let response): return response
      case .lookUp(let trial): step = try await nextStep(after: trial, for: transaction, without: &unreadable)
      }
    }
  }

  /// What to do for a request.
  private enum Step {
    /// Send it. It has started.
    case send(OriginRequest)
    case answer(HTTPResponse)
    /// Try this; if it neither answers nor sends the request, look up the stored responses again.
    case lookUp(after: Trial)
  }

  /// An attempt to answer or send a request before the stored responses are looked up again.
  private indirect enum Trial {
    case nothing
    /// Read this stored response in order to answer with it.
    case read(CacheEntry, CachePlan.Serving)
    /// Wait for an identical request.
    case wait(RunningWork<CacheTransaction.Ending>)
    /// Ask other processes whether one of them is sending an identical request. If not, send this one.
    case ask(OriginRequest)
  }

  /// Looks up the stored responses and answers with one, if that is possible immediately.
  private func firstStep(for transaction: CacheTransaction) throws -> Step {
    let storedCount = cache.inFlight.storedCount
    guard let entries = cache.immediateEntries(for: transaction), entries.count < HTTPCache.variantLimit else {
      return .lookUp(after: .nothing)
    }
    let step = try decide(for: transaction, among: entries, since: storedCount)
    guard case .lookUp(after: .read(let entry, .fresh)) = step,
      let response = immediateResponse(from: entry, as: .cache, to: transaction)
    else { return step }
    return .answer(response)
  }

  /// Tries to answer or send the request, and otherwise looks up the stored responses.
  private func nextStep(
    after trial: Trial, for transaction: CacheTransaction, without unreadable: inout Set<CacheEntry.ID>
  ) async throws -> Step {
    switch trial {
    case .nothing: break
    case .read(let entry, let serving):
      if let response = await serve(entry, serving, to: transaction) { return .answer(response) }
      unreadable.insert(entry.id)
    case .wait(let result): try await transaction.wait(for: result, on: clock)
    case .ask(let sent):
      guard try await transaction.shouldLookUpAgain(on: clock) else { return .send(sent) }
    }
    let storedCount = cache.inFlight.storedCount
    let entries = await cache.entries(for: transaction).filter { [unreadable] in !unreadable.contains($0.id) }
    let step = try decide(for: transaction, among: entries, since: storedCount)
    if case .send(let sent) = step, sent.known == nil { await cache.removeOldest(of: entries, for: transaction) }
    return step
  }

  /// Obeys the plan for the request, and starts it if it has to be sent.
  private func decide(
    for transaction: CacheTransaction, among entries: [CacheEntry], since storedCount: Int
  ) throws -> Step {
    let sent: OriginRequest
    switch transaction.plan(among: entries) {
    case .serve(let index, let serving): return .lookUp(after: .read(entries[index], serving))
    case .validate(let index, let head, let reason):
      sent = OriginRequest(head, .validating(entries[index], because: reason))
    case .select(let indices, let head): sent = OriginRequest(head, .offering(indices.map { entries[$0] }))
    case .combine(let index, let head): sent = OriginRequest(head, .joining(entries[index]))
    case .forward(let head): sent = OriginRequest(head)
    case .answerGatewayTimeout:
      var response = HTTPResponse(status: .gatewayTimeout, url: transaction.request.url)
      response.source = .cache
      return .answer(response)
    case .failNotCached:
      throw HTTPError(.notCached, "the cache policy forbids network access, and no stored response can be used")
    }
    return switch transaction.joinOrRegister(since: storedCount) {
    case .started: transaction.asksFleet ? .lookUp(after: .ask(sent)) : .send(sent)
    case .outdated: .lookUp(after: .nothing)
    case .joined(let result): .lookUp(after: .wait(result))
    }
  }

  // MARK: - From the store

  /// Returns the stored response; nil if its body has to be awaited.
  private func immediateResponse(
    from entry: CacheEntry, as source: HTTPResponse.Source, to transaction: CacheTransaction
  ) -> HTTPResponse? {
    let answer = storedAnswer(from: entry, as: source, to: transaction)
    return immediateBody(of: entry, in: answer.range).map { makeResponse(answer, $0, as: source, to: transaction) }
  }

  /// Returns bytes of the stored body; nil if they have to be awaited.
  private func immediateBody(of entry: CacheEntry, in range: Range<Int64>) -> ResponseBody? {
    range.isEmpty ? .empty : cache.immediate?.immediateBytes(of: entry.id, range: range).map { ResponseBody($0) }
  }

  /// Returns the stored response that the plan serves, and validates it in the background if the plan says so; nil if
  /// it cannot be read.
  private func serve(
    _ entry: CacheEntry, _ serving: CachePlan.Serving, to transaction: CacheTransaction
  ) async -> HTTPResponse? {
    let source = serving == .fresh ? HTTPResponse.Source.cache : .stale
    guard let response = await readableResponse(from: entry, as: source, to: transaction) else { return nil }
    if case .staleWhileRevalidating(let head) = serving { revalidate(entry, with: head, for: transaction) }
    return response
  }

  /// Returns the stored response, after a wait for its body if necessary. The body of the response that it replaces is
  /// discarded. nil if the stored body cannot be read, or if it is stale and the call only renews it.
  private func readableResponse(
    from entry: CacheEntry, as source: HTTPResponse.Source, to transaction: CacheTransaction,
    replacing received: HTTPResponse? = nil
  ) async -> HTTPResponse? {
    if transaction.call.use.onlyRenewsCache, source != .revalidated { return nil }
    let answer = storedAnswer(from: entry, as: source, to: transaction)
    let body: ResponseBody
    if let immediate = immediateBody(of: entry, in: answer.range) {
      body = immediate
    } else if let stored = await StoredBody.open(entry.id, range: answer.range, of: cache, in: transaction.call) {
      body = ResponseBody(length: Int64(answer.range.count), from: stored)
    } else {
      return nil
    }
    let response = makeResponse(answer, body, as: source, to: transaction, replacing: received)
    received?.body.cancel()
    return response
  }

  private func storedAnswer(
    from entry: CacheEntry, as source: HTTPResponse.Source, to transaction: CacheTransaction
  ) -> StoredAnswer {
    StoredAnswer(
      of: entry.response, length: entry.length ?? 0, to: transaction.request.head, at: cache.now(),
      isConfirmed: source == .revalidated)
  }

  private func makeResponse(
    _ answer: StoredAnswer, _ body: ResponseBody, as source: HTTPResponse.Source, to transaction: CacheTransaction,
    replacing received: HTTPResponse? = nil
  ) -> HTTPResponse {
    transaction.call.emit(.cached(source))
    transaction.count { $0.add(source) }
    var response = HTTPResponse(
      url: transaction.request.url, head: answer.head, body: body, networkHead: received?.networkHead, from: source)
    if let received { response.informationalHeads = received.informationalHeads }
    return response
  }

  /// Validates a stale response in the background (RFC 5861 §3). An entry is validated once at a time.
  private func revalidate(_ entry: CacheEntry, with head: RequestHead, for transaction: CacheTransaction) {
    guard cache.beginRevalidation(of: entry.id) else { return }
    let sent = OriginRequest(head, .validating(entry, because: .stale))
    // A separate call: for listeners, the first one ends with its response. Its response is stored even if a download
    // started it. It has no outer call, because no call waits for it: the concurrency limit applies to it.
    let call = CallContext.none.perform {
      Call(runner: transaction.call.runner, asked: nil, Call.Use(onlyRenewsCache: true), listeners: [], deadline: nil)
    }
    call.takeLocals(of: transaction.call)
    let background = transaction.again(in: call)
    background.register()  // now, so that a later removal includes its response
    call.context.perform {
      _ = Task {
        defer {
          cache.endRevalidation(of: entry.id)
          call.end(nil)
        }
        guard await background.mayRevalidate(entry) else { return background.finish(.abandoned) }
        guard let response = try? await fetch(sent, for: background) else { return }
        await storeBody(of: response, for: background)
      }
    }
  }

  /// Reads the body of a response that has no reader, so that it is stored. Stops when it can no longer be stored, or
  /// exceeds the size that the request's caller would accept.
  private func storeBody(of response: HTTPResponse, for transaction: CacheTransaction) async {
    var (body, count) = (response.body.makeAsyncIterator(), Int64(0))
    while !transaction.isFinished, count <= transaction.bodyLimit, let chunk = try? await body.next() {
      count += Int64(chunk.count)
    }
    response.body.cancel()
  }

  // MARK: - From the origin

  /// Sends a request to the origin and processes the response by the rules.
  ///
  /// - Parameters:
  ///   - sent: the request.
  ///   - transaction: the transaction of the caller's request, which has started.
  private func fetch(_ sent: OriginRequest, for transaction: CacheTransaction) async throws -> HTTPResponse {
    transaction.report(.sending(sent))
    let requestTime = cache.now()
    let response: HTTPResponse
    do {
      response = try await base.send(transaction.request.with(sent.head.fields), in: transaction.call)
    } catch {
      return try await stale(sent, insteadOf: error, to: transaction)
    }
    return try await process(response, to: sent, at: requestTime, for: transaction)
  }

  /// Processes the response to a request by the rules.
  @inline(never)  // Its variables would take space in the frame of `fetch`, which a call keeps while it waits.
  private func process(
    _ response: HTTPResponse, to sent: OriginRequest, at requestTime: Date, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    let update = transaction.update(after: response, to: sent, sentAt: requestTime)
    transaction.report(.received(response, update))
    return try await apply(update, of: response, to: sent, for: transaction)
  }

  /// Returns a response that is not stored.
  func pass(
    _ response: HTTPResponse, for transaction: CacheTransaction, as ending: CacheTransaction.Ending
  ) -> HTTPResponse {
    transaction.finish(ending, afterStatus: response.status)
    transaction.count { $0.misses += 1 }
    return response
  }

  /// Returns the stored response that the request validates instead of an error, if the rules allow that.
  @inline(never)  // as for `process`
  private func stale(
    _ sent: OriginRequest, insteadOf error: any Error, to transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    let failure = HTTPError(wrapping: error)
    transaction.fail(with: failure)
    guard case .validating(let entry, _) = sent.basis, let use = transaction.staleUse(of: entry, after: failure),
      let stale = await readableResponse(from: entry, as: HTTPResponse.Source(use), to: transaction)
    else { throw error }
    return stale
  }

  /// Applies the decision of the rules to the cache, and returns the response to the caller's request. An update
  /// changes the stored response that the request was sent for.
  private func apply(
    _ update: CacheUpdate, of response: HTTPResponse, to sent: OriginRequest, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    switch update {
    case .ignore: return pass(response, for: transaction, as: .unstorable)
    case .select(let index, let merged):
      return try await confirm(sent.offered[index], as: merged, by: response, for: transaction)
    case .repeatWithoutConditions:
      if let known = sent.known { await cache.remove(.entry(known.id), for: transaction) }
      return try await fetchAgain(insteadOf: response, for: transaction)
    case .store(let stored):
      let isAllowed = transaction.mayStore(response)
      if let known = sent.known, !isAllowed || stored.replaces(known.response) {
        await cache.remove(.entry(known.id), for: transaction)
      }
      if isAllowed { return await store(response, as: stored, for: transaction) }
      return pass(response, for: transaction, as: .unshared)
    case .known(let change):
      guard let known = sent.known else { return pass(response, for: transaction, as: .unstorable) }
      return try await apply(change, to: known, by: response, for: transaction)
    }
  }

  /// Changes the stored response that a request was sent for, and returns the response to the caller's request.
  private func apply(
    _ change: CacheUpdate.Change, to known: CacheEntry, by response: HTTPResponse, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    switch change {
    case .confirm(let merged): return try await confirm(known, as: merged, by: response, for: transaction)
    case .serveStale(let use):
      transaction.finish(.unshared, afterStatus: response.status)
      let source = HTTPResponse.Source(use)
      if let stale = await readableResponse(from: known, as: source, to: transaction, replacing: response) {
        return stale
      }
    case .extend(let joined):
      if transaction.mayStore(response) { return await extend(known, by: response, to: joined, for: transaction) }
    case .complete(let whole, let isStored):
      return try await complete(known, by: response, to: whole, isStored: isStored, for: transaction)
    case .update(let updated):
      await cache.update(known, to: updated, for: transaction)
    case .remove:
      await cache.remove(.entry(known.id), for: transaction)
      return pass(response, for: transaction, as: .unstorable)
    }
    return pass(response, for: transaction, as: .unshared)
  }

  /// Returns the stored response that the origin has validated, updated with this one.
  private func confirm(
    _ entry: CacheEntry, as merged: StoredResponse, by response: HTTPResponse, for transaction: CacheTransaction
  ) async throws -> HTTPResponse {
    let updated = await cache.update(entry, to: merged, for: transaction)
    guard let confirmed = await readableResponse(from: updated, as: .revalidated, to: transaction, replacing: response)
    else { return try await fetchAgain(insteadOf: response, for: transaction) }
    transaction.finish(.stored)
    return confirmed
  }

  /// Sends the caller's request, without the cache's conditions and range, in place of an unusable response.
  func fetchAgain(insteadOf response: HTTPResponse, for transaction: CacheTransaction) async throws -> HTTPResponse {
    response.body.cancel()
    return try await fetch(OriginRequest(transaction.request.head), for: transaction)
  }

  /// Returns the response with a body that is stored while it is read.
  ///
  /// - Parameter part: the matching stored part.
  func store(
    _ response: HTTPResponse, as stored: StoredResponse, for transaction: CacheTransaction, with part: PartOfBody? = nil
  ) async -> HTTPResponse {
    transaction.count { $0.misses += 1 }
    let entry = CacheEntry(key: transaction.key, response: stored, length: part?.length ?? response.body.length)
    let base = await cache.attempt(in: transaction.call) { try await cache.store.begin(entry) }
    guard let writer = part?.writer(around: base, of: entry, in: cache.store) ?? base else {
      transaction.finish(.unshared)
      return response
    }
    cache.inFlight.removeUnstorable(transaction.key)
    // Let identical requests go now if this body may not be read to its end soon. A streaming reader may take any time,
    // or may itself wait for a request that waits for this response. The body of a refusal or a temporary error may
    // never be read, because the request is sent again. A body that is too long is not read to its end.
    if !transaction.call.use.collectsBody || response.body.length ?? 0 > transaction.bodyLimit
      || CacheUpdate.isRefusalOrTemporaryError(stored.head.status)
    {
      transaction.releaseJoined(FleetOutcome(.unshared, after: stored.head.status))
    }
    let body = StoringBody(response.expectedBody, of: entry, to: writer, for: transaction, on: clock)
    if response.body.length == 0 {  // A reader may not ask for the end of an empty body.
      _ = try? await transaction.call.withinDeadline { try await body.next() }
    }
    var response = response
    response.body = ResponseBody(length: response.body.length, from: body)
    return response
  }

  /// Sends a request that no stored response can answer. If it changes something at the origin, the stored responses
  /// that become invalid are removed.
  private func sendUncached(
    _ transaction: CacheTransaction, because uncacheable: CacheTransaction.Uncacheable
  ) async throws -> HTTPResponse {
    guard transaction.policy != .returnCacheDataDontLoad else {
      throw HTTPError(
        .notCached,
        "the cache policy forbids network access, and no stored response can answer the request: "
          + transaction.reason(uncacheable).text)
    }
    transaction.report(.uncacheable(uncacheable))
    let request = transaction.request.head
    let requestTime = cache.now()
    // Started now, so that a later removal includes its response.
    if request.method == .post, uncacheable != .foreignHost { transaction.register() }
    let response = try await base.send(transaction.request, in: transaction.call)
    let keys = InvalidationRule.keys(
      after: response.head, to: transaction.request.head, partition: transaction.key.partition)
    if !keys.isEmpty { transaction.report(.invalidating) }
    for key in keys { await cache.remove(.key(key), for: transaction) }
    guard transaction.isRegistered, transaction.mayStore(response),
      case .store(let stored) = transaction.update(after: response, to: OriginRequest(request), sentAt: requestTime)
    else { return response }
    return await store(response, as: stored, for: transaction)
  }
}

extension StoredResponse {
  /// Whether this response makes a stored one with another variant useless: a part of the whole, or the whole of a
  /// part.
  fileprivate func replaces(_ other: StoredResponse) -> Bool {
    !CacheUpdate.isRefusalOrTemporaryError(head.status) && head.status != other.head.status
      && (head.status == .partialContent || other.head.status == .partialContent)
  }
}

extension HTTPResponse.Source {
  fileprivate init(_ use: StaleFallback.Use) { self = use == .offline ? .offline : .stale }
}
