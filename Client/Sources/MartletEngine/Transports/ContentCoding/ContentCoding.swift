import MartletSemantics
import Synchronization

/// A content coding for the body of a request (RFC 9110 §8.4.1).
@nonexhaustive public enum ContentCoding: String, Sendable, Hashable {
  /// gzip (RFC 1952), the most widely supported coding.
  case gzip
  /// The zlib format of RFC 1950 (RFC 9110 §8.4.1.2), not raw deflate.
  case deflate
  #if canImport(CZstd)
  /// Zstandard (RFC 8878), faster and smaller than gzip, for servers that are known to support it. Windows have at most
  /// 8 MiB, as recipients may require (RFC 9659 §3). Linux only: Apple's platforms do not have the library.
  case zstd
  #endif
}

extension RequestBody {
  /// Returns the body compressed, with its `Content-Encoding`. It is compressed while it is sent.
  ///
  /// ```swift
  /// request.body = try .json(report).compressed()
  /// ```
  ///
  /// If a server does not support the coding, it responds with 415 (RFC 9110 §15.5.16). A body of up to 64 KiB is sent
  /// with its length; a larger one, and a single-use stream, is chunked. The body can be sent again if the original
  /// can.
  public func compressed(_ coding: ContentCoding = .gzip) -> RequestBody {
    guard !isEmpty else { return self }
    var fields = fields
    fields.removeDigests()
    fields.append(coding.rawValue, for: .contentEncoding)
    let open: @Sendable () async throws -> OpenBody = { [self] in
      let plain = try await self.open()
      let source = CompressedSource(plain.source, coding: coding)
      guard singleUses.isEmpty, !hasTrailers, let length = plain.length, length <= Self.measuredSizeLimit else {
        return OpenBody(source: source, length: nil)
      }
      var data = Data()
      while let chunk = try await source.next() { data.append(chunk) }
      return OpenBody(source: DataSource(data), length: Int64(data.count))
    }
    return RequestBody(
      .made(open), length: nil, fields: fields, hasTrailers: hasTrailers, singleUses: singleUses,
      estimate: { [self] in estimatedLength })
  }

  private static let measuredSizeLimit: Int64 = 64 << 10
}

/// A source that compresses another one while it is read, with memory for one chunk and the coding's window.
final class CompressedSource: BodySource {
  private let base: any BodySource
  private let stream: Mutex<CompressedStream>

  init(_ base: any BodySource, coding: ContentCoding, chunks: ChunkPool = .shared) {
    self.base = base
    stream = Mutex(CompressedStream(coding, chunks))
  }

  func next() async throws -> Data? {
    while true {
      if let data = try stream.withLock({ stream throws(HTTPError) in try stream.next() }) { return data }
      if stream.withLock({ $0.isFinished }) { return nil }
      let chunk = try await base.next()
      stream.withLock { $0.add(chunk) }
    }
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields {
    var trailers = base.trailers
    trailers.removeDigests()
    return trailers
  }
}

/// The state of a body that is being compressed.
private struct CompressedStream: ~Copyable {
  private let encoder: (any ContentEncoder)?
  private let chunks: ChunkPool
  /// The bytes that are not compressed yet.
  private var input = Data()
  /// Whether no more bytes follow.
  private var isEnding = false
  /// Whether the last step filled its output, so that there may be more output without more input.
  private var mayHoldMore = false
  /// Whether all compressed bytes were returned.
  private(set) var isFinished = false

  init(_ coding: ContentCoding, _ chunks: ChunkPool) {
    self.chunks = chunks
    encoder = coding.makeEncoder()
  }

  /// Adds bytes after the earlier ones, which are all compressed; nil if no more follow.
  mutating func add(_ chunk: Data?) {
    if let chunk { input = chunk } else { isEnding = true }
  }

  /// Returns the next compressed bytes; nil if more input is needed, or at the end.
  mutating func next() throws(HTTPError) -> Data? {
    guard !isFinished, mayHoldMore || isEnding || !input.isEmpty else { return nil }
    guard let encoder, let chunk = Chunk(of: chunks) else {
      throw HTTPError(.other, "there is no memory to compress the request's body", phase: .preparing)
    }
    repeat {
      let produced = try step(of: encoder, into: chunk.room)
      if produced > 0 { return chunk.data(produced) }
    } while !input.isEmpty
    return nil
  }

  /// Compresses until the input is consumed or the output full. Returns the number of compressed bytes.
  private mutating func step(
    of encoder: any ContentEncoder, into output: UnsafeMutableRawBufferPointer
  ) throws(HTTPError) -> Int {
    guard let step = input.withUnsafeBytes({ encoder.encode($0, into: output, isLast: isEnding) }) else {
      throw HTTPError(.other, "the request's body cannot be compressed", phase: .preparing)
    }
    isFinished = step.isAtEnd
    input = input.dropFirst(step.consumed)
    mayHoldMore = step.produced == output.count
    return step.produced
  }
}
