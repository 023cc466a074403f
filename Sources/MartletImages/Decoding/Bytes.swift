#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// The bytes of a file that nobody vouches for: every access is checked, in release builds too.
///
/// A view, valid only inside the `withUnsafeBytes` that gave the buffer; all numbers are read as unsigned.
struct Bytes {
  /// The bytes, for handing them to a codec.
  let buffer: UnsafeRawBufferPointer

  /// How many there are.
  var count: Int { buffer.count }

  /// The order of the bytes of a number.
  enum Order {
    case big
    case little
  }

  /// The byte at `offset`, if it is there.
  func byte(at offset: Int) -> UInt8? {
    offset >= 0 && offset < buffer.count ? buffer[offset] : nil
  }

  /// The number of `width` ≤ 4 bytes at `offset`, if all of it is there.
  func number(at offset: Int, bytes width: Int, _ order: Order) -> Int? {
    guard let field = slice(from: offset, count: width) else { return nil }
    return switch order {
    case .big: field.buffer.reduce(0) { $0 << 8 | Int($1) }
    case .little: field.buffer.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
  }

  /// The `count` bytes from `offset`, if all of them are there.
  func slice(from offset: Int, count length: Int) -> Bytes? {
    guard offset >= 0, length >= 0, offset <= buffer.count, length <= buffer.count - offset else { return nil }
    return Bytes(buffer: UnsafeRawBufferPointer(rebasing: buffer[offset..<offset + length]))
  }

  /// Whether these bytes stand at `offset`.
  func has(_ expected: [UInt8], at offset: Int = 0) -> Bool {
    slice(from: offset, count: expected.count)?.buffer.elementsEqual(expected) ?? false
  }

  /// Whether this text stands at `offset`.
  func has(_ expected: String, at offset: Int = 0) -> Bool { has(Array(expected.utf8), at: offset) }

  /// Whether there are fewer bytes than `expected`, and those are its beginning.
  func isBeginning(of expected: [UInt8]) -> Bool { count < expected.count && expected.starts(with: buffer) }

  /// Where `byte` stands next, from `offset` on.
  func firstIndex(of byte: UInt8, from offset: Int) -> Int? {
    guard offset >= 0, offset < buffer.count else { return nil }
    let rest = UnsafeRawBufferPointer(rebasing: buffer[offset...])
    guard let start = rest.baseAddress, let found = memchr(start, Int32(byte), rest.count) else { return nil }
    return offset + (UnsafeRawPointer(found) - start)
  }
}
