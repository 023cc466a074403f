public import MartletSemantics

extension ResponseBody {
  /// Reads the whole body into memory.
  ///
  /// - Parameter limit: the most bytes to accept. A body that is or becomes larger is given up at once.
  /// - Throws: ``HTTPError`` of kind `.bodyTooLarge`, `.bodyAlreadyRead`, or what the transport met.
  public func collect(upTo limit: Int) async throws(HTTPError) -> Data {
    if let length, length > limit {
      cancel()
      throw .bodyTooLarge(limit: limit)
    }
    var iterator = makeAsyncIterator()
    guard let first = try await iterator.next() else { return Data() }
    guard first.count <= limit else { throw .bodyTooLarge(limit: limit, giving: self) }
    if Int64(first.count) == length {
      // The usual case of a small body: one chunk, and only the end (and its trailers) still to be seen.
      guard let surplus = try await iterator.next() else { return first }
      return try await collect(first, surplus, &iterator, upTo: limit)
    }
    return try await collect(first, Data(), &iterator, upTo: limit)
  }

  private func collect(
    _ first: Data, _ second: Data, _ iterator: inout Iterator, upTo limit: Int
  ) async throws(HTTPError) -> Data {
    var buffer = CollectBuffer(capacity: length.map(Int.init) ?? 0)
    try buffer.append(first)
    try buffer.append(second)
    while buffer.count <= limit, let chunk = try await iterator.next() { try buffer.append(chunk) }
    guard buffer.count <= limit else { throw .bodyTooLarge(limit: limit, giving: self) }
    return buffer.take()
  }
}

extension HTTPError {
  package static func bodyTooLarge(limit: some BinaryInteger, giving body: ResponseBody? = nil) -> HTTPError {
    body?.cancel()
    return HTTPError(
      .bodyTooLarge, "the response's body is larger than \(limit) bytes: raise the limit, or stream it",
      phase: .receiving)
  }
}
