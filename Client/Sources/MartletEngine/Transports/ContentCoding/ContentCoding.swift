import MartletSemantics
import Synchronization

#if canImport(CZlib)
import CZlib
#else
import zlib
#endif

/// A content coding for the body of a request (RFC 9110 §8.4.1).
@nonexhaustive public enum ContentCoding: String, Sendable, Hashable {
  /// gzip (RFC 1952), the most widely supported coding.
  case gzip
  /// The zlib format of RFC 1950 (RFC 9110 §8.4.1.2), not raw deflate.
  case deflate
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
      let source = DeflateSource(plain.source, coding: coding)
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

/// A source that compresses another one while it is read, with memory for one chunk and zlib's window.
final class DeflateSource: BodySource {
  private let base: any BodySource
  private let stream: Mutex<DeflateStream>

  init(_ base: any BodySource, coding: ContentCoding, chunks: ChunkPool = .shared) {
    self.base = base
    stream = Mutex(DeflateStream(coding, chunks))
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

/// A zlib stream, which must not move in memory: zlib keeps its address.
private struct DeflateStream: ~Copyable {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let status: Int32
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
    stream.initialize(to: z_stream())
    // 15 is the largest window; 16 more selects gzip's header and trailer instead of zlib's.
    let windowBits: Int32 = coding == .gzip ? 15 + 16 : 15
    status = deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
  }

  /// Adds bytes after the earlier ones, which are all compressed; nil if no more follow.
  mutating func add(_ chunk: Data?) {
    if let chunk { input = chunk } else { isEnding = true }
  }

  /// Returns the next compressed bytes; nil if more input is needed, or at the end.
  mutating func next() throws(HTTPError) -> Data? {
    guard !isFinished, mayHoldMore || isEnding || !input.isEmpty else { return nil }
    guard status == Z_OK, let chunk = Chunk(of: chunks) else {
      throw HTTPError(.other, "there is no memory to compress the request's body (\(status))", phase: .preparing)
    }
    repeat {
      let produced = step(into: chunk.room)
      if produced > 0 { return chunk.data(produced) }
    } while !input.isEmpty
    return nil
  }

  /// Compresses until the input is consumed or the output full. Returns the number of compressed bytes.
  private mutating func step(into output: UnsafeMutableRawBufferPointer) -> Int {
    let flush = isEnding ? Z_FINISH : Z_NO_FLUSH
    let consumed = input.withUnsafeBytes { input in
      let count = min(input.count, 1 << 30)  // zlib counts in 32 bits
      stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
      stream.pointee.avail_in = UInt32(count)
      stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_out = UInt32(output.count)
      isFinished = deflate(stream, flush) == Z_STREAM_END  // cannot fail on an initialized stream (zlib.h)
      stream.pointee.next_in = nil
      return count - Int(stream.pointee.avail_in)
    }
    input = input.dropFirst(consumed)
    mayHoldMore = stream.pointee.avail_out == 0
    return output.count - Int(stream.pointee.avail_out)
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }
}
