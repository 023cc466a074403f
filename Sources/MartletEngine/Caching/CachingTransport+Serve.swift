import MartletSemantics

extension CachingTransport {
  /// The answer that a stored response is for the request; nil where its body cannot be had any more.
  ///
  /// - Parameter wire: what confirmed it, over the network.
  func serve(
    _ entry: CacheEntry, to lookup: Lookup, as source: ResponseSource, wire: ResponseHead? = nil
  ) async -> HTTPResponse? {
    let answer = StoredAnswer(
      of: entry.response, length: entry.length ?? 0, to: lookup.request.head, at: cache.now(),
      isConfirmed: source == .revalidated)
    var response = HTTPResponse(status: answer.head.status, fields: answer.head.fields, url: lookup.request.url)
    response.head = answer.head
    response.wire = wire
    response.source = source
    if !answer.range.isEmpty {
      guard let body = await StoredBody.open(entry, range: answer.range, of: cache, in: lookup.exchange) else {
        return nil
      }
      response.body = ResponseBody(length: Int64(answer.range.count), from: body)
    }
    lookup.exchange.emit(.note("the answer comes from the cache: \(source.rawValue)"))
    switch source {
    case .network: break
    case .cache: cache.count { $0.hits += 1 }
    case .revalidated: cache.count { $0.revalidations += 1 }
    case .stale, .offline: cache.count { $0.staleHits += 1 }
    }
    return response
  }

  /// Asks about a stale response while its reader already has it (RFC 5861 §3); once at a time for each entry.
  func revalidate(_ entry: CacheEntry, with head: RequestHead, for lookup: Lookup) {
    guard cache.beginRevalidation(of: entry.id) else { return }
    var request = lookup.request
    request.options.isCollected = false
    // The exchange is over for its listeners when the reader is done: this is another one.
    let background = Lookup(request, in: Exchange(session: lookup.exchange.session))
    Task {
      defer { cache.endRevalidation(of: entry.id) }
      guard let response = try? await ask(head, about: entry, for: background, flight: nil) else { return }
      var body = response.body.makeAsyncIterator()
      while (try? await body.next()) != nil {}
    }
  }
}
