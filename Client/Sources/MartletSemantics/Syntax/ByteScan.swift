/// Searches contiguous bytes, eight at a time. Nothing else on the receiving path reads heads byte by byte.
package enum ByteScan {
  /// Returns the offset after the first LF at or after `start`; nil if there is none.
  package static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    offset(of: 10, in: bytes, from: start).map { $0 + 1 }
  }

  /// Returns the offset of the first such byte at or after `start`; nil if there is none.
  static func offset(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
    var index = start
    while index + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian ^ (ones &* UInt64(byte))
      // The lowest marked byte is exact: borrows only reach the bytes above it.
      let zeros = (word &- ones) & ~word & tops
      if zeros != 0 { return index + zeros.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < bytes.count {
      if bytes[index] == byte { return index }
      index += 1
    }
    return nil
  }

  /// Returns the offset of the first NUL, LF or CR at or after `start`; the number of bytes if there is none.
  static func breakOffset(in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int {
    var index = start
    while index < bytes.count {
      if index + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian
        let candidates = (word &- ones &* 14) & ~word & tops  // bytes below 14, the lowest exactly
        if candidates == 0 {
          index += 8
          continue
        }
        index += candidates.trailingZeroBitCount / 8
      }
      if bytes[index] == 0 || bytes[index] == 10 || bytes[index] == 13 { return index }
      index += 1
    }
    return bytes.count
  }

  /// Whether all bytes are visible ASCII or spaces.
  static func isPlain(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index + 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      // Bytes below 32, equal to 127, and from 128 on; any of them marks some byte.
      let marks = (word &- ones &* 32) | (word &+ ones) | word
      if marks & tops != 0 { return false }
      index += 8
    }
    while index < bytes.count {
      guard (32...126).contains(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  /// Whether no byte is a control character other than a tab.
  static func isFieldContent(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if index + 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        let other = word ^ (ones &* 127)
        // Bytes below 32, and those equal to 127; any of them marks some byte.
        if ((word &- ones &* 32) & ~word | (other &- ones) & ~other) & tops == 0 {
          index += 8
          continue
        }
      }
      guard bytes[index] == 9 || !ASCII.isControl(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  /// Whether the bytes equal a lower-case text, ignoring the case of ASCII letters.
  static func equals(_ bytes: UnsafeRawBufferPointer, _ lowercased: StaticString) -> Bool {
    guard bytes.count == lowercased.utf8CodeUnitCount else { return false }
    for index in 0..<bytes.count where ASCII.lowercased(bytes[index]) != lowercased.utf8Start[index] { return false }
    return true
  }

  /// Whether the bytes begin with a text.
  static func begins(_ bytes: UnsafeRawBufferPointer, with text: StaticString) -> Bool {
    guard bytes.count >= text.utf8CodeUnitCount else { return false }
    for index in 0..<text.utf8CodeUnitCount where bytes[index] != text.utf8Start[index] { return false }
    return true
  }

  /// Calls the closure with each element of a list without quoted strings (RFC 9110 §5.6.1): the non-empty texts
  /// between commas, without surrounding white space.
  static func forEachElement(of list: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
    var start = 0
    for index in 0...list.count where index == list.count || list[index] == UInt8(ascii: ",") {
      let element = trimmed(UnsafeRawBufferPointer(rebasing: list[start..<index]))
      if !element.isEmpty { body(element) }
      start = index + 1
    }
  }

  /// Returns the bytes without white space at either end.
  static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var start = 0
    var end = bytes.count
    while start < end, ASCII.isWhitespace(bytes[start]) { start += 1 }
    while start < end, ASCII.isWhitespace(bytes[end - 1]) { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let tops: UInt64 = 0x8080_8080_8080_8080
}
