import MartletSemantics
import Synchronization

#if canImport(CZlib)
import CZlib
#else
import zlib
#endif

/// Compresses another body while it is read: memory for one chunk and zlib's window, whatever the length.
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
    // 15 is the largest window; 16 more asks for gzip's head and trailer in place of zlib's
    let windowBits: Int32 = coding == .gzip ? 15 + 16 : 15
    status = deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
  }

  mutating func compress(_ chunk: Data) throws(HTTPError) -> Data {
    var output = Data()
    var rest = chunk
    while !rest.isEmpty {  // in pieces: a chunk may be all of a large body, and zlib counts in 32 bits
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
          deflate(stream, flush)  // cannot fail on a stream that was made well (zlib.h)
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
