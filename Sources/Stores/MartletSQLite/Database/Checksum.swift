import MartletSemantics

/// A checksum of values that are stored together, to detect bytes that have changed on disk: a damaged value is treated
/// as missing, never returned.
///
/// FNV-1a over words of eight bytes instead of single bytes. Every step is a bijection of its word, so that a change
/// within one word is always detected, and any other change with near certainty. It detects accidents, not deliberate
/// changes.
struct Checksum {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  /// The checksum as it is stored.
  var value: Int64 { Int64(bitPattern: state) }

  /// The checksum as sixteen hexadecimal digits.
  var text: String {
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// Returns the value of a checksum as sixteen hexadecimal digits in lower case; nil for another text.
  static func value(ofText digits: some Collection<UInt8>) -> Int64? {
    guard digits.count == 16 else { return nil }
    var value: UInt64 = 0
    for digit in digits {
      switch digit {
      case 48...57: value = value << 4 | UInt64(digit - 48)
      case 97...102: value = value << 4 | UInt64(digit - 87)
      default: return nil
      }
    }
    return Int64(bitPattern: value)
  }

  /// Returns the checksum of the body of an entry.
  static func of(_ owner: UUID, _ bytes: Data) -> Int64 {
    var sum = Checksum()
    sum.add(owner)
    sum.add(.blob(bytes))
    return sum.value
  }

  /// Returns the checksum of a blob, preceded by the value that identifies its owner.
  static func of(_ owner: SQLiteValue, _ bytes: Data) -> Int64 {
    var sum = Checksum()
    sum.add(owner)
    sum.add(.blob(bytes))
    return sum.value
  }

  mutating func add(_ id: UUID) { withUnsafeBytes(of: id.uuid) { add($0) } }

  mutating func add(_ value: SQLiteValue) {
    switch value {
    case .null: mix(0)
    case .integer(let value): mix(UInt64(bitPattern: value))
    case .real(let value): mix(value.bitPattern)
    case .text(var text): text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    case .blob(let bytes): bytes.withUnsafeBytes { add($0) }
    }
  }

  /// Adds bytes, preceded by their count, so that they cannot be confused with the following values.
  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    mix(UInt64(bytes.count))
    let words = bytes.count / 8
    for index in 0..<words {
      mix(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)))
    }
    var rest: UInt64 = 0
    for byte in bytes[(words * 8)...] { rest = rest << 8 | UInt64(byte) }
    mix(rest)
  }

  private mutating func mix(_ word: UInt64) {
    state = (state ^ word) &* 0x100_0000_01b3
    state ^= state >> 32
  }
}
