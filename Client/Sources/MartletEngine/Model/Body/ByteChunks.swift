public import MartletSemantics

extension RequestBody {
  /// Returns a body that is read from a stream of any collections of bytes, such as `[UInt8]` or `ArraySlice<UInt8>`;
  /// otherwise like ``stream(length:trailers:_:)``.
  ///
  /// Each chunk is read when the connection takes it, so that a slow server slows the stream down. It is copied once
  /// then, because only `Data` can be sent as it is.
  ///
  /// - Parameters:
  ///   - length: the number of bytes; nil, the default, if it is not known.
  ///   - trailers: returns the trailer fields; nil, the default, for none.
  ///   - chunks: makes the stream; called for each attempt.
  public static func stream<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, trailers: (@Sendable () async throws -> HTTPFields)? = nil,
    chunks make: @escaping @Sendable () async throws -> Chunks
  ) -> RequestBody where Chunks.Element: Collection, Chunks.Element.Element == UInt8 {
    stream(length: length, trailers: trailers) { ByteChunks(base: try await make()) }
  }

  /// Returns a body that is read once from a stream of any collections of bytes; otherwise like
  /// ``singleUse(length:_:)``. It passes on a body that a server framework receives:
  ///
  /// ```swift
  /// // The chunks of the framework are ByteBuffers of SwiftNIO.
  /// request.body = .singleUse(chunks: incoming.body.map(\.readableBytesView))
  /// ```
  ///
  /// Each chunk is read when the connection takes it, and copied once.
  public static func singleUse<Chunks: AsyncSequence & Sendable>(
    length: Int64? = nil, chunks: Chunks
  ) -> RequestBody where Chunks.Element: Collection, Chunks.Element.Element == UInt8 {
    singleUse(length: length, ByteChunks(base: chunks))
  }
}

extension ResponseBody {
  /// Makes a body of a stream of collections of bytes, for transports and tests. Chunks that are `Data` are not copied.
  ///
  /// - Parameters:
  ///   - length: the number of bytes; nil, the default, if it is not known.
  ///   - chunks: the stream. An error that it throws becomes the `underlying` error of an ``HTTPError``.
  public init<Chunks: AsyncSequence & Sendable>(length: Int64? = nil, chunks: Chunks)
  where Chunks.Element: Collection, Chunks.Element.Element == UInt8 {
    self.init(length: length, from: SequenceSource(ByteChunks(base: chunks)))
  }

  /// Returns the body as other collections of bytes: `body.chunks(as: ArraySlice<UInt8>.self)`. Chunks are read on
  /// demand, so that a slow reader slows the server down. Each is copied once, unless the type is `Data`.
  ///
  /// For a type of another kind, `map` does the same: `body.map { ByteBuffer(bytes: $0) }`.
  public func chunks<Chunk: RangeReplaceableCollection & Sendable>(
    as type: Chunk.Type = Chunk.self
  ) -> some AsyncSequence<Chunk, HTTPError> & Sendable where Chunk.Element == UInt8 {
    map { ($0 as? Chunk) ?? Chunk($0) }
  }
}

/// A sequence of collections of bytes, as `Data`.
private struct ByteChunks<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element: Collection, Base.Element.Element == UInt8 {
  typealias Element = Data
  typealias Failure = Base.Failure

  let base: Base

  func makeAsyncIterator() -> Iterator { Iterator(base: base.makeAsyncIterator()) }

  struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator

    mutating func next(isolation actor: isolated (any Actor)?) async throws(Base.Failure) -> Data? {
      guard let chunk = try await base.next(isolation: actor) else { return nil }
      return (chunk as? Data) ?? Data(chunk)
    }

    mutating func next() async throws(Base.Failure) -> Data? { try await next(isolation: nil) }
  }
}
