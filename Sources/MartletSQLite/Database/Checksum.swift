import MartletSemantics

/// A checksum over values that are stored together, so that a byte that changed on the disk is noticed: a damaged value is
/// lost, never returned.
///
/// FNV-1a over words of eight bytes instead of single ones. Every step is a bijection of the word that it takes, so that a
/// change within one word always shows, and any other with all but certainty. It protects against accidents, not against
/// somebody who writes into the file.
struct Checksum {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  /// As it is stored.
  var value: Int64 { Int64(bitPattern: state) }

  /// As text: sixteen hexadecimal digits.
  var text: String {
    let digits = String(state, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The checksum of a blob behind what it belongs to.
  static func of(_ owner: SQLiteValue, _ bytes: Data) -> Int64 {
    var sum = Checksum()
    sum.add(owner)
    sum.add(.blob(bytes))
    return sum.value
  }

  mutating func add(_ values: SQLiteValue...) { for value in values { add(value) } }

  private mutating func add(_ value: SQLiteValue) {
    switch value {
    case .null: mix(0)
    case .integer(let value): mix(UInt64(bitPattern: value))
    case .real(let value): mix(value.bitPattern)
    case .text(var text): text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    case .blob(let bytes): bytes.withUnsafeBytes { add($0) }
    }
  }

  /// Adds bytes, their number first, so that what follows is told from what belongs to them.
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
