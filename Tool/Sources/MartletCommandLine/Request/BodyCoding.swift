import MartletEngine
import MartletSemantics

// The options for how a body is sent.
extension RequestBody {
  /// The body, compressed and chunked as the options say.
  func coded(as arguments: ParsedArguments) async throws -> RequestBody {
    var body = self
    if arguments.has(.compress) { body = try await body.compressedIfSmaller() }
    return arguments.has(.chunked) && !body.isEmpty ? body.chunked : body
  }

  /// The body with the coding deflate, unless it is in memory and would become larger.
  private func compressedIfSmaller() async throws -> RequestBody {
    let compressed = compressed(.deflate)
    guard let size = bytes?.count else { return compressed }
    let source = try await compressed.open().source
    var count = 0
    while count < size, let chunk = try await source.next() { count += chunk.count }
    return count < size ? compressed : self
  }

  /// The body without its length, so that it is sent in chunks over HTTP/1.1.
  private var chunked: RequestBody {
    let chunks = BodyChunks(body: self)
    var result: RequestBody = isReplayable ? .stream { chunks } : .singleUse(chunks)
    result.fields = fields
    return result
  }
}

/// The chunks of a body, which is opened when the first one is read.
private struct BodyChunks: AsyncSequence, AsyncIteratorProtocol, Sendable {
  let body: RequestBody
  private var source: (any BodySource)?

  init(body: RequestBody) { self.body = body }

  func makeAsyncIterator() -> Self { self }

  mutating func next() async throws -> Data? {
    if let source { return try await source.next() }
    let source = try await body.open().source
    self.source = source
    return try await source.next()
  }
}
