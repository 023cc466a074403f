@_spi(Toolkit) import MartletSemantics

#if canImport(CZlib)
import CZlib
#else
import zlib
#endif
#if canImport(CBrotli)
import CBrotli
#endif
#if canImport(CZstd)
import CZstd
#endif

/// Decodes a content coding (RFC 9110 §8.4.1) in bounded steps, for one reader.
protocol ContentDecoder: AnyObject {
  /// Decodes until the input is consumed, the output is full, or the coded data end.
  ///
  /// - Throws: ``DecodingFailure`` if the bytes are not of this coding, or a checksum is wrong.
  func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws -> DecodingStep

  /// Returns whether the bytes after the end of the coded data begin another gzip member (RFC 1952 §2.3.1) or zstd
  /// frame (RFC 8878 §3.1); nil if there are too few bytes to know. If so, the decoder is reset for it.
  func restarts(at bytes: Data) -> Bool?
}

/// The result of a step of a decoder.
struct DecodingStep {
  /// The number of bytes that were read.
  var consumed: Int
  /// The number of bytes that were written.
  var produced: Int
  /// Whether the coded data have ended, with correct checksums.
  var isAtEnd: Bool
}

/// The bytes that begin a coded member or frame.
private struct MagicNumber {
  /// The first byte is one of these.
  let first: ClosedRange<UInt8>
  let rest: [UInt8]

  /// RFC 1952 §2.3.1.
  static let gzip = MagicNumber(first: 0x1F...0x1F, rest: [0x8B])
  /// RFC 8878 §3.1.1.
  static let zstd = MagicNumber(first: 0x28...0x28, rest: [0xB5, 0x2F, 0xFD])
  /// RFC 8878 §3.1.2.
  static let skippable = MagicNumber(first: 0x50...0x5F, rest: [0x2A, 0x4D, 0x18])

  /// Whether the bytes begin with the number; nil if they end within it.
  func begins(_ bytes: Data) -> Bool? {
    guard let byte = bytes.first else { return nil }
    let next = bytes.dropFirst().prefix(rest.count)
    guard first.contains(byte), rest.starts(with: next) else { return false }
    return next.count == rest.count ? true : nil
  }
}

/// A fault in coded bytes, as described by the decoding library.
struct DecodingFailure: Error {
  let reason: String
}

/// The supported content codings.
enum ContentDecoders {
  /// The value of `Accept-Encoding` for all of them.
  #if canImport(CBrotli) && canImport(CZstd)
  static let acceptEncoding = "gzip, deflate, br, zstd"
  #else
  static let acceptEncoding = "gzip, deflate"
  #endif

  /// Makes the decoder of a coding; returns nil for an unknown one. Names are case-insensitive, and `x-gzip` is `gzip`
  /// (RFC 9110 §8.4.1.3).
  ///
  /// - Throws: ``DecodingFailure`` if there is no memory.
  static func make(for coding: String) throws -> (any ContentDecoder)? {
    switch ASCII.lowercased(coding) {
    case "gzip", "x-gzip": return try ZlibDecoder(.gzip)
    case "deflate": return try ZlibDecoder(.deflate)
    #if canImport(CBrotli) && canImport(CZstd)
    case "br": return try BrotliDecoder()
    case "zstd": return try ZstdDecoder()
    #endif
    default: return nil
    }
  }
}

/// Decodes gzip (RFC 1952) and deflate: the zlib format (RFC 1950), or the raw format (RFC 1951) that some servers send
/// under that name.
private final class ZlibDecoder: ContentDecoder {
  enum Format {
    case gzip
    case deflate
  }

  private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
  private let format: Format
  /// The first bytes of deflate, until two of them show the format; then nil.
  private var opening: [UInt8]?

  init(_ format: Format) throws {
    self.format = format
    opening = format == .deflate ? [] : nil
    stream.initialize(to: z_stream())
    // 15 is the largest window; 16 more selects gzip's header and trailer instead of zlib's.
    let windowBits: Int32 = format == .gzip ? 15 + 16 : 15
    guard inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      // All properties are set, so that `deinit` frees them.
      throw DecodingFailure(reason: "no memory for zlib")
    }
  }

  func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws -> DecodingStep {
    guard var bytes = opening else { return try run(input, into: output) }
    let missing = input.prefix(2 - bytes.count)
    bytes += missing
    opening = bytes
    guard bytes.count == 2 else { return DecodingStep(consumed: missing.count, produced: 0, isAtEnd: false) }
    opening = nil
    // RFC 1950 §2.2: the method is 8, and the two bytes are a multiple of 31.
    let isZlib = bytes[0] & 0x0F == 8 && (Int(bytes[0]) << 8 | Int(bytes[1])) % 31 == 0
    if !isZlib { inflateReset2(stream, -15) }
    var step = try bytes.withUnsafeBytes { try run($0, into: output) }
    step.consumed = missing.count
    return step
  }

  private func run(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws -> DecodingStep {
    let inputCount = min(input.count, 1 << 30)  // zlib counts in 32 bits
    let outputCount = min(output.count, 1 << 30)
    stream.pointee.next_in = UnsafeMutablePointer(
      mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(inputCount)
    stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(outputCount)
    // It decodes as much as without the flag, but needs no memory for a window if the whole body fits (zlib.h).
    let code = inflate(stream, Z_FINISH)
    guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else { throw failure(code) }
    return DecodingStep(
      consumed: inputCount - Int(stream.pointee.avail_in), produced: outputCount - Int(stream.pointee.avail_out),
      isAtEnd: code == Z_STREAM_END)
  }

  private func failure(_ code: Int32) -> DecodingFailure {
    if code == Z_NEED_DICT { return DecodingFailure(reason: "it needs a preset dictionary") }
    return DecodingFailure(reason: stream.pointee.msg.map { String(cString: $0) } ?? "zlib's error \(code)")
  }

  func restarts(at bytes: Data) -> Bool? {
    guard format == .gzip else { return false }
    let begins = MagicNumber.gzip.begins(bytes)
    return begins == true ? inflateReset(stream) == Z_OK : begins
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }
}

#if canImport(CBrotli)
/// Decodes Brotli (RFC 7932), with windows of at most 16 MiB.
private final class BrotliDecoder: ContentDecoder {
  private let state: OpaquePointer

  init() throws {
    guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
      throw DecodingFailure(reason: "no memory for brotli")
    }
    self.state = state
  }

  func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws -> DecodingStep {
    var availableInput = input.count
    var nextInput = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
    var availableOutput = output.count
    var nextOutput = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
    let result = BrotliDecoderDecompressStream(
      state, &availableInput, &nextInput, &availableOutput, &nextOutput, nil)
    guard result != BROTLI_DECODER_RESULT_ERROR else {
      throw DecodingFailure(reason: String(cString: BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state))))
    }
    return DecodingStep(
      consumed: input.count - availableInput, produced: output.count - availableOutput,
      isAtEnd: result == BROTLI_DECODER_RESULT_SUCCESS)
  }

  func restarts(at bytes: Data) -> Bool? { false }

  deinit { BrotliDecoderDestroyInstance(state) }
}
#endif

#if canImport(CZstd)
/// Decodes Zstandard (RFC 8878), with windows of at most 8 MiB (RFC 9659 §3).
private final class ZstdDecoder: ContentDecoder {
  private let context: OpaquePointer
  private static let windowLogLimit: Int32 = 23

  init() throws {
    guard let context = ZSTD_createDCtx() else { throw DecodingFailure(reason: "no memory for zstd") }
    self.context = context
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLogLimit)
  }

  func decode(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws -> DecodingStep {
    var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
    var target = ZSTD_outBuffer(dst: output.baseAddress, size: output.count, pos: 0)
    let result = ZSTD_decompressStream(context, &target, &source)
    guard ZSTD_isError(result) == 0 else {
      throw DecodingFailure(reason: String(cString: ZSTD_getErrorName(result)))
    }
    return DecodingStep(consumed: source.pos, produced: target.pos, isAtEnd: result == 0)
  }

  func restarts(at bytes: Data) -> Bool? {
    bytes.first == 0x28 ? MagicNumber.zstd.begins(bytes) : MagicNumber.skippable.begins(bytes)
  }

  deinit { ZSTD_freeDCtx(context) }
}
#endif
