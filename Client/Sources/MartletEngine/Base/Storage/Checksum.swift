public import MartletSemantics

/// A checksum over the values of a stored item. It detects bytes that have changed: a damaged item is treated as
/// missing and never returned.
///
/// It is FNV-1a over words of eight bytes instead of single bytes. Every step is a bijection of its word, so a change
/// within one word is always detected, and any other change almost certainly. It detects accidents, not deliberate
/// changes.
@_spi(Stores) public struct Checksum: Sendable {
  private var state: UInt64 = 0xcbf2_9ce4_8422_2325

  public init() {}

  /// The checksum as it is stored.
  public var value: Int64 { Int64(bitPattern: state) }

  public mutating func add(_ id: UUID) { withUnsafeBytes(of: id.uuid) { add($0) } }

  /// Adds bytes, preceded by their count, so that they cannot be confused with the following values.
  public mutating func add(_ bytes: UnsafeRawBufferPointer) {
    add(UInt64(bytes.count))
    let words = bytes.count / 8
    for index in 0..<words {
      add(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)))
    }
    var rest: UInt64 = 0
    for byte in bytes[(words * 8)...] { rest = rest << 8 | UInt64(byte) }
    add(rest)
  }

  public mutating func add(_ word: UInt64) {
    state = (state ^ word) &* 0x100_0000_01b3
    state ^= state >> 32
  }
}
