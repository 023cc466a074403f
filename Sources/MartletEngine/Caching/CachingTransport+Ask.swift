import MartletSemantics

extension CachingTransport {
  /// Asks the origin, and does with the response what the rules say.
  ///
  /// - Parameters:
  ///   - head: the request as it goes out.
  ///   - entry: the stored response that it asks about.
  ///   - flight: who else waits for the answer.
  func ask(
    _ head: RequestHead, about entry: CacheEntry?, for lookup: Lookup, flight: CacheFlights.Flight?
  ) async throws -> HTTPResponse {
    var request = lookup.request
    request.head = head
    var question = Reception.Question(
      request: lookup.request.head, sent: head, policy: lookup.policy, partition: lookup.key.partition,
      requestTime: cache.now())
    question.stored = entry?.response
    question.storedLength = entry?.length ?? 0
    let ticket = cache.writes.begin(lookup.key)
    do {
      let response = try await base.send(request, in: lookup.exchange)
      return try await receive(
        response, to: question, Asked(entry: entry, lookup: lookup, ticket: ticket, flight: flight))
    } catch {
      cache.writes.end(ticket)
      let failure = HTTPError(wrapping: error)
      // Somebody has to go in the place of who was cancelled, or goes again because a pooled connection was closed.
      flight?.end(failure.isCancelled || failure.delivery == .staleConnection ? .abandoned : .released)
      guard let entry, let standIn = await standIn(entry, for: lookup, after: error) else { throw error }
      return standIn
    }
  }

  /// Who asked, and what for.
  private struct Asked {
    let entry: CacheEntry?
    let lookup: Lookup
    let ticket: UInt64
    let flight: CacheFlights.Flight?
  }

  private func standIn(_ entry: CacheEntry, for lookup: Lookup, after error: any Error) async -> HTTPResponse? {
    let error = HTTPError(wrapping: error)
    let goesAgain = error.delivery != .unknown && lookup.request.options.retryPolicy.replacesStaleConnections
    guard error.meansUnreachable, !goesAgain,
      let use = StaleFallback.use(
        of: entry.response, for: lookup.request.head, policy: lookup.policy, after: .unreachable, at: cache.now())
    else { return nil }
    return await serve(entry, to: lookup, as: use == .offline ? .offline : .stale)
  }

  private func receive(
    _ response: HTTPResponse, to question: Reception.Question, _ asked: Asked
  ) async throws -> HTTPResponse {
    let reception = Reception.of(response.head, to: question, at: cache.now(), isUnpacked: response.isUnpacked)
    if case .store(let stored) = reception { return await keep(response, as: stored, asked) }
    let result = try await act(on: reception, response, asked)
    cache.writes.end(asked.ticket)
    switch reception {
    case .confirm: asked.flight?.end(.stored)
    case .pass, .forget:
      if asked.lookup.isShareable { cache.flights.note(asked.lookup.key, isShared: false) }
      asked.flight?.end(.released)
    default: asked.flight?.end(.released)
    }
    return result
  }

  private func act(on reception: Reception, _ response: HTTPResponse, _ asked: Asked) async throws -> HTTPResponse {
    switch reception {
    case .confirm(let merged):
      guard var entry = asked.entry else { break }
      if let merged {
        entry.response = merged
        await update(entry, asked)
      }
      if let answer = await replace(response, with: entry, as: .revalidated, asked) { return answer }
      return try await ask(asked.lookup.request.head, about: nil, for: asked.lookup, flight: nil)
    case .standIn(let use):
      guard let entry = asked.entry else { break }
      if let answer = await replace(response, with: entry, as: use == .offline ? .offline : .stale, asked) {
        return answer
      }
    case .update(let updated):
      guard var entry = asked.entry else { break }
      entry.response = updated
      await update(entry, asked)
    case .forget:
      if let entry = asked.entry { await forget(.entry(entry.id), asked.lookup) }
    case .store, .pass: break
    }
    cache.count { $0.misses += 1 }
    return response
  }

  private func update(_ entry: CacheEntry, _ asked: Asked) async {
    _ = await cache.attempt(in: asked.lookup.exchange) { try await cache.store.update(entry) }
  }

  private func forget(_ selection: CacheSelection, _ lookup: Lookup) async {
    _ = await cache.attempt(in: lookup.exchange) { try await cache.remove(selection) }
  }

  /// Puts a stored response in the place of the one that came. A 304 is read to its end, which is at hand; what an error
  /// has to say is given up, because it may take its time.
  private func replace(
    _ response: HTTPResponse, with entry: CacheEntry, as source: ResponseSource, _ asked: Asked
  ) async -> HTTPResponse? {
    guard let answer = await serve(entry, to: asked.lookup, as: source, wire: response.wire) else { return nil }
    if response.status == .notModified {
      _ = try? await response.body.collect(upTo: 0)
    } else {
      response.body.cancel()
    }
    return answer
  }

  private func keep(_ response: HTTPResponse, as stored: StoredResponse, _ asked: Asked) async -> HTTPResponse {
    cache.count { $0.misses += 1 }
    let lookup = asked.lookup
    let entry = CacheEntry(key: lookup.key, response: stored, length: response.body.length)
    guard let writer = await cache.attempt(in: lookup.exchange, { try await cache.store.begin(entry) }) else {
      cache.writes.end(asked.ticket)
      asked.flight?.end(.released)
      return response
    }
    // Who reads as it comes may take any time, and may even wait for one that waits for this answer. A refusal, or an error
    // that will pass, may never be read: the request goes again, with other credentials say, and all who wait may do so too.
    if !lookup.request.options.isCollected || Reception.passes(stored.head.status) { asked.flight?.end(.released) }
    cache.flights.note(lookup.key, isShared: true)
    let errand = StoringBody.Errand(exchange: lookup.exchange, ticket: asked.ticket, flight: asked.flight)
    let body = StoringBody(
      response.body, of: entry.id, to: deciding(writer, on: entry, for: lookup.request), in: cache, for: errand)
    // Not everybody looks for the end of a body that is known to be empty.
    if response.body.length == 0 { _ = try? await body.next() }
    var kept = response
    kept.body = ResponseBody(length: response.body.length, from: body)
    return kept
  }

  /// A request that no stored response can answer. If it changes something at the origin, what that makes out of date is
  /// forgotten.
  func sendUncached(_ lookup: Lookup) async throws -> HTTPResponse {
    if lookup.policy == .returnCacheDataDontLoad {
      throw HTTPError(
        .notCached,
        "a \(lookup.request.method)\(lookup.peculiarity) is never answered from the cache, but its policy allows nothing "
          + "else")
    }
    let requestTime = cache.now()
    let response = try await base.send(lookup.request, in: lookup.exchange)
    let head = lookup.request.head
    for key in InvalidationRule.keys(after: response.head, to: head, partition: lookup.key.partition) {
      await forget(.key(key), lookup)
    }
    let question = Reception.Question(
      request: head, sent: head, policy: .useProtocolCachePolicy, partition: lookup.key.partition,
      requestTime: requestTime)
    guard head.method == .post, !lookup.hasForeignHost,
      case .store(let stored) = Reception.of(
        response.head, to: question, at: cache.now(), isUnpacked: response.isUnpacked)
    else { return response }
    let ticket = cache.writes.begin(lookup.key)
    return await keep(response, as: stored, Asked(entry: nil, lookup: lookup, ticket: ticket, flight: nil))
  }
}

extension HTTPResponse {
  /// Whether the transport unpacked the body: then it took the field away that says how it was packed.
  fileprivate var isUnpacked: Bool {
    wire.map { $0.fields[.contentEncoding] != fields[.contentEncoding] } ?? false
  }
}

extension CachingTransport.Lookup {
  /// What a request has that no stored answer could be for.
  fileprivate var peculiarity: String {
    if !request.body.isEmpty { return " with a body" }
    return hasForeignHost ? " with another Host than its URL's" : ""
  }
}
