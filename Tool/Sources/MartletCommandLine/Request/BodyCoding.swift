import MartletEngine
import MartletSemantics

// The options for how a body is sent.
extension RequestBody {
  /// The body, compressed and chunked as the options say.
  func coded(as arguments: ParsedArguments) async throws -> RequestBody {
    var body = self
    if arguments.has(.compress) { body = try await body.compressedIfSmaller() }
    // A command for curl shows the body, and does not read it.
    if arguments.has(.sign), !arguments.has(.curl) { body = try await body.collected(arguments) }
    guard arguments.has(.chunked), !body.isEmpty else { return body }
    return try arguments.has(.sign) ? body.withDigest(for: arguments).chunked : body.chunked
  }

  /// The body in memory, so that a signature in the head can cover its digest; a file, which can be read twice, stays
  /// as it is.
  private func collected(_ arguments: ParsedArguments) async throws -> RequestBody {
    guard bytes == nil, file == nil || arguments.has(.chunked) else { return self }
    let source = try await open().source
    var data = Data()
    while let chunk = try await source.next() {
      data.append(chunk)
      guard data.count <= InputFiles.textLimit else {
        source.cancel()
        throw UsageError(
          "--sign: the body has more than 64 MiB, and is signed before it is sent: send it as @FILE, without --compress "
            + "and --chunked")
      }
    }
    var body = RequestBody.data(data)
    body.fields = fields
    return body
  }

  /// The body with its digest as a field: that of a body in chunks would follow it.
  private func withDigest(for arguments: ParsedArguments) throws -> RequestBody {
    guard let bytes else { return self }
    var body = self
    body.fields.setDigests([try IntegrityDigest(SigningOptions.digest(for: arguments), of: bytes)], for: .contentDigest)
    return body
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
