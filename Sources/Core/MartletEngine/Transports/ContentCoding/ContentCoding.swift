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

  init(_ base: any BodySource, coding: ContentCoding) {
    self.base = base
    stream = Mutex(DeflateStream(coding))
  }

  func next() async throws -> Data? {
    while true {
      if stream.withLock({ $0.isFinished }) { return nil }
      let chunk = try await base.next()
      let data = try stream.withLock { stream throws(HTTPError) in
        if let chunk { try stream.compress(chunk) } else { try stream.finish() }
      }
      if !data.isEmpty { return data }
    }
  }

  func cancel() { base.cancel() }

  var trailers: HTTPFields { base.trailers }
}

/// A zlib stream, which must not move in memory: zlib keeps its address.
private struct DeflateStream: ~Copyable {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let status: Int32
  private(set) var isFinished = false
  private static let inputSize = 1 << 20
  private static let pieceSize = 64 << 10

  init(_ coding: ContentCoding) {
    stream.initialize(to: z_stream())
    // 15 is the largest window; 16 more selects gzip's header and trailer instead of zlib's.
    let windowBits: Int32 = coding == .gzip ? 15 + 16 : 15
    status = deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
  }

  mutating func compress(_ chunk: Data) throws(HTTPError) -> Data {
    var output = Data()
    var rest = chunk
    while !rest.isEmpty {  // in pieces: a chunk may be a large body, and zlib counts in 32 bits
      var input = [UInt8](rest.prefix(Self.inputSize))
      rest = rest.dropFirst(Self.inputSize)
      output += try run(&input, flush: Z_NO_FLUSH)
    }
    return output
  }

  mutating func finish() throws(HTTPError) -> Data {
    isFinished = true
    var input: [UInt8] = []
    return try run(&input, flush: Z_FINISH)
  }

  private func run(_ input: inout [UInt8], flush: Int32) throws(HTTPError) -> Data {
    guard status == Z_OK else {
      throw HTTPError(.other, "zlib cannot compress the request's body (\(status))", phase: .preparing)
    }
    var output = Data()
    var piece = [UInt8](repeating: 0, count: Self.pieceSize)
    input.withUnsafeMutableBufferPointer { input in
      stream.pointee.next_in = input.baseAddress
      stream.pointee.avail_in = UInt32(input.count)
      piece.withUnsafeMutableBufferPointer { piece in
        repeat {
          stream.pointee.next_out = piece.baseAddress
          stream.pointee.avail_out = UInt32(piece.count)
          deflate(stream, flush)  // cannot fail on an initialized stream (zlib.h)
          output.append(contentsOf: piece.prefix(piece.count - Int(stream.pointee.avail_out)))
        } while stream.pointee.avail_out == 0
      }
      stream.pointee.next_in = nil
    }
    return output
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }
}
