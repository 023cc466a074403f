import MartletSemantics

#if canImport(CZlib)
import CZlib
#else
import zlib
#endif
#if canImport(CZstd)
import CZstd
#endif

/// One step of an encoder: how many bytes of the input it has taken, and how many it has written.
struct EncodingStep {
  let consumed: Int
  let produced: Int
  /// Whether all compressed bytes were written.
  let isAtEnd: Bool
}

/// Compresses a sequence of bytes. It has one owner at a time.
protocol ContentEncoder: AnyObject {
  /// Compresses until the input is consumed or the output full; nil if the library fails.
  ///
  /// - Parameter isLast: whether no bytes follow the input.
  func encode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
  ) -> EncodingStep?
}

extension ContentCoding {
  /// Returns an encoder; nil if there is no memory for it.
  func makeEncoder() -> sending (any ContentEncoder)? {
    switch self {
    // 15 is the largest window; 16 more selects gzip's header and trailer instead of zlib's.
    case .gzip: DeflateEncoder(windowBits: 15 + 16)
    case .deflate: DeflateEncoder(windowBits: 15)
    #if canImport(CZstd)
    case .zstd: ZstdEncoder()
    #endif
    }
  }
}

/// Writes the formats gzip and zlib. Its stream must not move in memory: zlib keeps its address.
private final class DeflateEncoder: ContentEncoder {
  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

  init?(windowBits: Int32) {
    stream.initialize(to: z_stream())
    let status = deflateInit2_(
      stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    guard status == Z_OK else { return nil }
  }

  func encode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
  ) -> EncodingStep? {
    let count = min(input.count, 1 << 30)  // zlib counts in 32 bits
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(count)
    stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(output.count)
    let flush = isLast && count == input.count ? Z_FINISH : Z_NO_FLUSH
    let isAtEnd = deflate(stream, flush) == Z_STREAM_END  // cannot fail on an initialized stream (zlib.h)
    stream.pointee.next_in = nil
    return EncodingStep(
      consumed: count - Int(stream.pointee.avail_in), produced: output.count - Int(stream.pointee.avail_out),
      isAtEnd: isAtEnd)
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
  }
}

#if canImport(CZstd)
/// Writes Zstandard frames (RFC 8878), with windows of at most 8 MiB (RFC 9659 §3).
private final class ZstdEncoder: ContentEncoder {
  private let context: OpaquePointer

  init?() {
    guard let context = ZSTD_createCCtx() else { return nil }
    self.context = context
    // Windows of 2 MiB are the default of level 3. They are fixed here, below the limit of 8 MiB (RFC 9659).
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 3)
    ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, 21)
  }

  func encode(
    _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, isLast: Bool
  ) -> EncodingStep? {
    var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
    let rest = ZSTD_compressStream2(context, &target, &source, isLast ? ZSTD_e_end : ZSTD_e_continue)
    guard ZSTD_isError(rest) == 0 else { return nil }
    return EncodingStep(
      consumed: source.pos, produced: target.pos, isAtEnd: isLast && rest == 0 && source.pos == input.count)
  }

  deinit { ZSTD_freeCCtx(context) }
}
#endif
