/// Judges UTF-8 (RFC 3629) as its bytes arrive: a wrong byte is found before the bytes after it have arrived. So
/// RFC 6455 §8.1 can be obeyed within a frame, and over the fragments of a message.
struct UTF8Progress: Sendable, Hashable {
  /// The number of bytes that the current character still needs.
  private var missing: UInt8 = 0
  /// The bytes that may follow next. Only the second byte of a character can have fewer than 0x80 to 0xBF.
  private var low: UInt8 = 0x80
  private var high: UInt8 = 0xBF

  init() {}

  /// Whether the bytes so far end with a whole character.
  var isComplete: Bool { missing == 0 }

  /// Adds bytes. Returns false if they cannot be part of UTF-8.
  mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    while position < bytes.count {
      if missing == 0 {
        position = Self.endOfASCII(in: bytes, from: position)
        guard position < bytes.count else { return true }
        guard begin(bytes[position]) else { return false }
      } else {
        guard bytes[position] >= low, bytes[position] <= high else { return false }
        (low, high) = (0x80, 0xBF)
        missing -= 1
      }
      position += 1
    }
    return true
  }

  /// Begins a character of several bytes (RFC 3629 §4).
  private mutating func begin(_ byte: UInt8) -> Bool {
    switch byte {
    case 0xC2...0xDF: missing = 1
    case 0xE0: (missing, low) = (2, 0xA0)
    case 0xED: (missing, high) = (2, 0x9F)  // no surrogates
    case 0xE1...0xEF: missing = 2
    case 0xF0: (missing, low) = (3, 0x90)
    case 0xF1...0xF3: missing = 3
    case 0xF4: (missing, high) = (3, 0x8F)  // nothing above U+10FFFF
    default: return false
    }
    return true
  }

  private static func endOfASCII(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
    var position = start
    while position + 8 <= bytes.count,
      bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    { position += 8 }
    while position < bytes.count, bytes[position] < 0x80 { position += 1 }
    return position
  }
}
