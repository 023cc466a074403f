import MartletSemantics

/// Answers requests from the cache, and stores responses.
///
/// It follows the rules of MartletSemantics: `CachePlan` before a request is sent, `CacheUpdate` when there is a
/// response. ``InFlightRequest`` handles its relation to other running requests.
struct CachingTransport: Transport, DeadlineAware {
  let base: any Transport
  let cache: HTTPCache
  let clock: any Clock<Duration>
  var endsAtDeadline: Bool { Deadline.ends(cache.store) && Deadline.ends(base) }

  /// Looks up the stored responses until one of them answers the request, or the request has to be sent.
  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
    let flight = InFlightRequest(request, in: call, of: cache)
    if let uncacheable = flight.uncacheable { return try await sendUncached(flight, because: uncacheable) }
    var unreadable: Set<CacheEntry.ID> = []
    var step = try firstStep(for: flight)
    while true {
      switch step {
      case .send(let sent): return try await fetch(sent, for: flight)
      case .answer(let response): return response
      case .lookUp(let trial): step = try await nextStep(after: trial, for: flight, without: &unreadable)
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
    case wait(RunningWork<InFlightRequest.Ending>)
    /// Ask other processes whether one of them is sending an identical request. If not, send this one.
    case ask(OriginRequest)
  }

  /// Looks up the stored responses and answers with one, if that is possible immediately.
  private func firstStep(for flight: InFlightRequest) throws -> Step {
    let storedCount = cache.inFlight.storedCount
    guard let entries = cache.immediateEntries(for: flight), entries.count < HTTPCache.variantLimit else {
      return .lookUp(after: .nothing)
    }
    let step = try decide(for: flight, among: entries, since: storedCount)
    guard case .lookUp(after: .read(let entry, .fresh)) = step,
      let response = immediateResponse(from: entry, as: .cache, to: flight)
    else { return step }
    return .answer(response)
  }

  /// Tries to answer or send the request, and otherwise looks up the stored responses.
  private func nextStep(
    after trial: Trial, for flight: InFlightRequest, without unreadable: inout Set<CacheEntry.ID>
  ) async throws -> Step {
    switch trial {
    case .nothing: break
    case .read(let entry, let serving):
      if let response = await serve(entry, serving, to: flight) { return .answer(response) }
      unreadable.insert(entry.id)
    case .wait(let result): try await flight.wait(for: result, on: clock)
    case .ask(let sent):
      guard try await flight.shouldLookUpAgain(on: clock) else { return .send(sent) }
    }
    let storedCount = cache.inFlight.storedCount
    let entries = await cache.entries(for: flight).filter { [unreadable] in !unreadable.contains($0.id) }
    let step = try decide(for: flight, among: entries, since: storedCount)
    if case .send(let sent) = step, sent.known == nil { await cache.removeOldest(of: entries, for: flight) }
    return step
  }

  /// Obeys the plan for the request, and starts it if it has to be sent.
  private func decide(
    for flight: InFlightRequest, among entries: [CacheEntry], since storedCount: Int
  ) throws -> Step {
    let sent: OriginRequest
    switch flight.plan(among: entries) {
    case .serve(let index, let serving): return .lookUp(after: .read(entries[index], serving))
    case .validate(let index, let head, let reason):
      sent = OriginRequest(head, .validating(entries[index], because: reason))
    case .select(let indices, let head): sent = OriginRequest(head, .offering(indices.map { entries[$0] }))
    case .combine(let index, let head): sent = OriginRequest(head, .joining(entries[index]))
    case .forward(let head): sent = OriginRequest(head)
    case .answerGatewayTimeout:
      var response = HTTPResponse(status: .gatewayTimeout, url: flight.request.url)
      response.source = .cache
      return .answer(response)
    case .failNotCached:
      throw HTTPError(.notCached, "the cache policy forbids network access, and no stored response can be used")
    }
    return switch flight.joinOrRegister(since: storedCount) {
    case .started: flight.asksFleet ? .lookUp(after: .ask(sent)) : .send(sent)
    case .outdated: .lookUp(after: .nothing)
    case .joined(let result): .lookUp(after: .wait(result))
    }
  }

  // MARK: - From the store

  /// Returns the stored response; nil if its body has to be awaited.
  private func immediateResponse(
    from entry: CacheEntry, as source: HTTPResponse.Source, to flight: InFlightRequest
  ) -> HTTPResponse? {
    let answer = storedAnswer(from: entry, as: source, to: flight)
    return immediateBody(of: entry, in: answer.range).map { makeResponse(answer, $0, as: source, to: flight) }
  }

  /// Returns bytes of the stored body; nil if they have to be awaited.
  private func immediateBody(of entry: CacheEntry, in range: Range<Int64>) -> ResponseBody? {
    range.isEmpty ? .empty : cache.immediate?.immediateBytes(of: entry.id, range: range).map { ResponseBody($0) }
  }

  /// Returns the stored response that the plan serves, and validates it in the background if the plan says so; nil if
  /// it cannot be read.
  private func serve(
    _ entry: CacheEntry, _ serving: CachePlan.Serving, to flight: InFlightRequest
  ) async -> HTTPResponse? {
    let source = serving == .fresh ? HTTPResponse.Source.cache : .stale
    guard let response = await readableResponse(from: entry, as: source, to: flight) else { return nil }
    if case .staleWhileRevalidating(let head) = serving { revalidate(entry, with: head, for: flight) }
    return response
  }

  /// Returns the stored response, after a wait for its body if necessary. The body of the response that it replaces is
  /// discarded. nil if the stored body cannot be read, or if it is stale and the call only renews it.
  private func readableResponse(
    from entry: CacheEntry, as source: HTTPResponse.Source, to flight: InFlightRequest,
    replacing received: HTTPResponse? = nil
  ) async -> HTTPResponse? {
    if flight.call.use.onlyRenewsCache, source != .revalidated { return nil }
    let answer = storedAnswer(from: entry, as: source, to: flight)
    let body: ResponseBody
    if let immediate = immediateBody(of: entry, in: answer.range) {
      body = immediate
    } else if let stored = await StoredBody.open(entry.id, range: answer.range, of: cache, in: flight.call) {
      body = ResponseBody(length: Int64(answer.range.count), from: stored)
    } else {
      return nil
    }
    let response = makeResponse(answer, body, as: source, to: flight, replacing: received)
    received?.body.cancel()
    return response
  }

  private func storedAnswer(
    from entry: CacheEntry, as source: HTTPResponse.Source, to flight: InFlightRequest
  ) -> StoredAnswer {
    StoredAnswer(
      of: entry.response, length: entry.length ?? 0, to: flight.request.head, at: cache.now(),
      isConfirmed: source == .revalidated)
  }

  private func makeResponse(
    _ answer: StoredAnswer, _ body: ResponseBody, as source: HTTPResponse.Source, to flight: InFlightRequest,
    replacing received: HTTPResponse? = nil
  ) -> HTTPResponse {
    flight.call.emit(.cached(source))
    flight.count { $0.add(source) }
    return HTTPResponse(
      url: flight.request.url, head: answer.head, body: body, networkHead: received?.networkHead, from: source)
  }

  /// Validates a stale response in the background (RFC 5861 §3). An entry is validated once at a time.
  private func revalidate(_ entry: CacheEntry, with head: RequestHead, for flight: InFlightRequest) {
    guard cache.beginRevalidation(of: entry.id) else { return }
    let sent = OriginRequest(head, .validating(entry, because: .stale))
    // A separate call: for listeners, the first one ends with its response. Its response is stored even if a download
    // started it. It has no outer call, because no call waits for it: the concurrency limit applies to it.
    let call = CallContext.none.perform {
      Call(runner: flight.call.runner, asked: nil, Call.Use(onlyRenewsCache: true), listeners: [], deadline: nil)
    }
    call.takeLocals(of: flight.call)
    let background = InFlightRequest(flight.request, in: call, of: cache)
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
  private func storeBody(of response: HTTPResponse, for flight: InFlightRequest) async {
    var (body, count) = (response.body.makeAsyncIterator(), Int64(0))
    while !flight.isFinished, count <= flight.bodyLimit, let chunk = try? await body.next() {
      count += Int64(chunk.count)
    }
    response.body.cancel()
  }

  // MARK: - From the origin

  /// Sends a request to the origin and processes the response by the rules.
  ///
  /// - Parameters:
  ///   - sent: the request.
  ///   - flight: the request as its caller made it, which has started.
  private func fetch(_ sent: OriginRequest, for flight: InFlightRequest) async throws -> HTTPResponse {
    flight.report(.sending(sent))
    let requestTime = cache.now()
    let response: HTTPResponse
    do {
      response = try await base.send(flight.request.with(sent.head.fields), in: flight.call)
    } catch {
      return try await stale(sent, insteadOf: error, to: flight)
    }
    return try await process(response, to: sent, at: requestTime, for: flight)
  }

  /// Processes the response to a request by the rules.
  @inline(never)  // Its variables would take space in the frame of `fetch`, which a call keeps while it waits.
  private func process(
    _ response: HTTPResponse, to sent: OriginRequest, at requestTime: Date, for flight: InFlightRequest
  ) async throws -> HTTPResponse {
    let update = flight.update(after: response, to: sent, sentAt: requestTime)
    flight.report(.received(response, update))
    return try await apply(update, of: response, to: sent, for: flight)
  }

  /// Returns a response that is not stored.
  func pass(
    _ response: HTTPResponse, for flight: InFlightRequest, as ending: InFlightRequest.Ending
  ) -> HTTPResponse {
    flight.finish(ending, afterStatus: response.status)
    flight.count { $0.misses += 1 }
    return response
  }

  /// Returns the stored response that the request validates instead of an error, if the rules allow that.
  @inline(never)  // as for `process`
  private func stale(
    _ sent: OriginRequest, insteadOf error: any Error, to flight: InFlightRequest
  ) async throws -> HTTPResponse {
    let failure = HTTPError(wrapping: error)
    flight.fail(with: failure)
    guard case .validating(let entry, _) = sent.basis, let use = flight.staleUse(of: entry, after: failure),
      let stale = await readableResponse(from: entry, as: HTTPResponse.Source(use), to: flight)
    else { throw error }
    return stale
  }

  /// Applies the decision of the rules to the cache, and returns the response to the caller's request. An update
  /// changes the stored response that the request was sent for.
  private func apply(
    _ update: CacheUpdate, of response: HTTPResponse, to sent: OriginRequest, for flight: InFlightRequest
  ) async throws -> HTTPResponse {
    switch update {
    case .ignore: return pass(response, for: flight, as: .unstorable)
    case .select(let index, let merged):
      return try await confirm(sent.offered[index], as: merged, by: response, for: flight)
    case .repeatWithoutConditions:
      if let known = sent.known { await cache.remove(.entry(known.id), for: flight) }
      return try await fetchAgain(insteadOf: response, for: flight)
    case .store(let stored):
      let isAllowed = flight.mayStore(response)
      if let known = sent.known, !isAllowed || stored.replaces(known.response) {
        await cache.remove(.entry(known.id), for: flight)
      }
      if isAllowed { return await store(response, as: stored, for: flight) }
      return pass(response, for: flight, as: .unshared)
    case .known(let change):
      guard let known = sent.known else { return pass(response, for: flight, as: .unstorable) }
      return try await apply(change, to: known, by: response, for: flight)
    }
  }

  /// Changes the stored response that a request was sent for, and returns the response to the caller's request.
  private func apply(
    _ change: CacheUpdate.Change, to known: CacheEntry, by response: HTTPResponse, for flight: InFlightRequest
  ) async throws -> HTTPResponse {
    switch change {
    case .confirm(let merged): return try await confirm(known, as: merged, by: response, for: flight)
    case .serveStale(let use):
      flight.finish(.unshared, afterStatus: response.status)
      let source = HTTPResponse.Source(use)
      if let stale = await readableResponse(from: known, as: source, to: flight, replacing: response) { return stale }
    case .extend(let joined):
      if flight.mayStore(response) { return await extend(known, by: response, to: joined, for: flight) }
    case .complete(let whole, let isStored):
      return try await complete(known, by: response, to: whole, isStored: isStored, for: flight)
    case .update(let updated):
      await cache.update(known, to: updated, for: flight)
    case .remove:
      await cache.remove(.entry(known.id), for: flight)
      return pass(response, for: flight, as: .unstorable)
    }
    return pass(response, for: flight, as: .unshared)
  }

  /// Returns the stored response that the origin has validated, updated with this one.
  private func confirm(
    _ entry: CacheEntry, as merged: StoredResponse, by response: HTTPResponse, for flight: InFlightRequest
  ) async throws -> HTTPResponse {
    let updated = await cache.update(entry, to: merged, for: flight)
    guard let confirmed = await readableResponse(from: updated, as: .revalidated, to: flight, replacing: response)
    else { return try await fetchAgain(insteadOf: response, for: flight) }
    flight.finish(.stored)
    return confirmed
  }

  /// Sends the caller's request, without the cache's conditions and range, in place of an unusable response.
  func fetchAgain(insteadOf response: HTTPResponse, for flight: InFlightRequest) async throws -> HTTPResponse {
    response.body.cancel()
    return try await fetch(OriginRequest(flight.request.head), for: flight)
  }

  /// Returns the response with a body that is stored while it is read.
  ///
  /// - Parameter part: the matching stored part.
  func store(
    _ response: HTTPResponse, as stored: StoredResponse, for flight: InFlightRequest, with part: PartOfBody? = nil
  ) async -> HTTPResponse {
    flight.count { $0.misses += 1 }
    let entry = CacheEntry(key: flight.key, response: stored, length: part?.length ?? response.body.length)
    let base = await cache.attempt(in: flight.call) { try await cache.store.begin(entry) }
    guard let writer = part?.writer(around: base, of: entry, in: cache.store) ?? base else {
      flight.finish(.unshared)
      return response
    }
    cache.inFlight.removeUnstorable(flight.key)
    // Let identical requests go now if this body may not be read to its end soon. A streaming reader may take any time,
    // or may itself wait for a request that waits for this response. The body of a refusal or a temporary error may
    // never be read, because the request is sent again. A body that is too long is not read to its end.
    if !flight.call.use.isCollected || response.body.length ?? 0 > flight.bodyLimit
      || CacheUpdate.isRefusalOrTemporaryError(stored.head.status)
    {
      flight.releaseJoined(FleetOutcome(.unshared, after: stored.head.status))
    }
    let body = StoringBody(response.expectedBody, of: entry, to: writer, for: flight, on: clock)
    if response.body.length == 0 {  // A reader may not ask for the end of an empty body.
      _ = try? await flight.call.withinDeadline { try await body.next() }
    }
    var response = response
    response.body = ResponseBody(length: response.body.length, from: body)
    return response
  }

  /// Sends a request that no stored response can answer. If it changes something at the origin, the stored responses
  /// that become invalid are removed.
  private func sendUncached(
    _ flight: InFlightRequest, because uncacheable: InFlightRequest.Uncacheable
  ) async throws -> HTTPResponse {
    guard flight.policy != .returnCacheDataDontLoad else {
      throw HTTPError(
        .notCached,
        "the cache policy forbids network access, and no stored response can answer the request: "
          + flight.reason(uncacheable).text)
    }
    flight.report(.uncacheable(uncacheable))
    let request = flight.request.head
    let requestTime = cache.now()
    // Started now, so that a later removal includes its response.
    if request.method == .post, uncacheable != .foreignHost { flight.register() }
    let response = try await base.send(flight.request, in: flight.call)
    let keys = InvalidationRule.keys(after: response.head, to: flight.request.head, partition: flight.key.partition)
    if !keys.isEmpty { flight.report(.invalidating) }
    for key in keys { await cache.remove(.key(key), for: flight) }
    guard flight.isRegistered, flight.mayStore(response),
      case .store(let stored) = flight.update(after: response, to: OriginRequest(request), sentAt: requestTime)
    else { return response }
    return await store(response, as: stored, for: flight)
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
