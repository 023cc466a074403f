#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// A file of one format whose header has been read: the requirements for decoding a format.
protocol ImageFile {
  /// The format of the file.
  var format: ImageFormat { get }
  /// The size as stored: at least one pixel each way, sides of 31 bits at most.
  var size: PixelSize { get }
  /// The orientation of the stored pixels; ``ImageOrientation/up`` if the file has none.
  var orientation: ImageOrientation { get }
  /// The embedded ICC profile; nil if there is none. ``decode(noSmallerThan:in:)`` applies only profiles for CMYK.
  var colorProfile: ColorProfile? { get }

  /// Reads the header. The bytes may end after it.
  init(_ bytes: Bytes) throws(ImageError)

  /// Returns the size at which the codec decodes the image if it has to be at least as large as `target`, as stored:
  /// the nearest of the sizes to which the codec can scale at less cost than that of the full size.
  func decodedSize(noSmallerThan target: PixelSize) -> PixelSize

  /// Decodes the image, as stored, at a size between `target` and ``size``, which is at least as large.
  func decode(noSmallerThan target: PixelSize, in decoding: Decoding) throws(ImageError) -> Bitmap

  /// Composes all frames at full size, one after another, until `body` returns false; a still image has one.
  ///
  /// - Returns: how many times to play the animation, nil for an endless loop.
  func eachFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int?
}

extension ImageFile {
  var colorProfile: ColorProfile? { nil }

  func decodedSize(noSmallerThan target: PixelSize) -> PixelSize { size }

  func eachFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    try stillFrame(in: decoding, body)
  }

  /// Decodes a still image as the only frame of an animation.
  func stillFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    _ = try body(ImageAnimation.Frame(bitmap: decode(noSmallerThan: size, in: decoding), duration: .zero))
    return 1
  }
}

/// The bytes of an untrusted file: every access is checked, in release builds too.
///
/// It is a view, valid only inside the `withUnsafeBytes` that supplied the buffer. All numbers are read as unsigned.
struct Bytes {
  /// The bytes, to pass to a codec.
  let buffer: UnsafeRawBufferPointer

  /// The number of bytes.
  var count: Int { buffer.count }

  /// The byte order of a number.
  enum Order {
    case big
    case little
  }

  /// Returns the byte at `offset`; nil outside the bytes.
  func byte(at offset: Int) -> UInt8? {
    offset >= 0 && offset < buffer.count ? buffer[offset] : nil
  }

  /// Returns the number of `width` ≤ 4 bytes at `offset`; nil if it is not wholly inside the bytes.
  func number(at offset: Int, bytes width: Int, _ order: Order) -> Int? {
    guard let field = slice(from: offset, count: width) else { return nil }
    return switch order {
    case .big: field.buffer.reduce(0) { $0 << 8 | Int($1) }
    case .little: field.buffer.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
  }

  /// Returns the `count` bytes from `offset`; nil if they are not wholly inside the bytes.
  func slice(from offset: Int, count length: Int) -> Bytes? {
    guard offset >= 0, length >= 0, offset <= buffer.count, length <= buffer.count - offset else { return nil }
    return Bytes(buffer: UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + length]))
  }

  /// Whether the bytes at `offset` are the expected ones.
  func has(_ expected: [UInt8], at offset: Int = 0) -> Bool {
    slice(from: offset, count: expected.count)?.buffer.elementsEqual(expected) ?? false
  }

  /// Whether the bytes at `offset` are the expected text in UTF-8.
  func has(_ expected: String, at offset: Int = 0) -> Bool { has(Array(expected.utf8), at: offset) }

  /// Whether these are the first bytes of `expected`, and fewer than all of them.
  func isBeginning(of expected: [UInt8]) -> Bool { count < expected.count && expected.starts(with: buffer) }

  /// Returns the offset of the first `byte` at or after `offset`.
  func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
    guard offset >= 0, offset < buffer.count else { return nil }
    let rest = UnsafeRawBufferPointer(rebasing: buffer[offset...])
    guard let start = rest.baseAddress, let found = memchr(start, Int32(byte), rest.count) else { return nil }
    return offset + (UnsafeRawPointer(found) - start)
  }
}
