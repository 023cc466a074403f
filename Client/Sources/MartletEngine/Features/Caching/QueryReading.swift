import MartletSemantics

// QUERY requests (RFC 10008 §2.7): their key needs their content, which is read before they are sent.
extension CachingTransport {
  /// Returns the transaction of a QUERY with the key of its content, or with the reason why it has none.
  ///
  /// The request is then sent with the bytes that were read, so that the key belongs to what the server receives: a
  /// file may change, and a stream may have other bytes when it is opened again.
  ///
  /// - Throws: `CancellationError`, or the error of the deadline. If the body cannot be read, sending it will say so.
  @inline(never)  // Its variables would take space in the frame of `send`, which a call keeps while it waits.
  func withContent(_ transaction: CacheTransaction) async throws -> CacheTransaction {
    var request = transaction.request
    guard cache.store.storesQueries else {
      return CacheTransaction(request, key: .failure(.notStored), in: transaction.call, of: cache)
    }
    let content: Data
    switch try await read(request.body, in: transaction.call) {
    case .success(let data): content = data
    case .failure(let refusal):
      return CacheTransaction(request, key: .failure(refusal), in: transaction.call, of: cache)
    }
    guard let digest = IncrementalDigest(.sha256) else {
      return CacheTransaction(request, key: .failure(.unreadable), in: transaction.call, of: cache)
    }
    QueryContent.hashed(before: request.fields).withUnsafeBytes { digest.update($0) }
    content.withUnsafeBytes { digest.update($0) }
    if request.body.bytes == nil {
      var body = RequestBody.data(content)
      body.fields = request.body.fields
      request.body = body
    }
    let key = CacheKey(transaction.key, content: digest.value())
    return CacheTransaction(request, key: .success(key), in: transaction.call, of: cache)
  }

  private func read(_ body: RequestBody, in call: Call) async throws -> Result<Data, QueryContent.Refusal> {
    let refusal = QueryContent.refusal(
      isReplayable: body.isReplayable, hasTrailers: body.hasTrailers, length: body.estimatedLength)
    if let refusal { return .failure(refusal) }
    if let bytes = body.bytes { return .success(bytes) }
    return try await call.withinDeadline {
      do { return try await Self.collect(body) } catch {
        try Task.checkCancellation()
        return .failure(.unreadable)
      }
    }
  }

  private static func collect(_ body: RequestBody) async throws -> Result<Data, QueryContent.Refusal> {
    let source = try await body.open().source
    defer { source.cancel() }  // no effect at its end
    var data = Data()
    while let chunk = try await source.next() {
      data.append(chunk)
      guard data.count <= QueryContent.limit else { return .failure(.tooLong) }
    }
    return .success(data)
  }
}
