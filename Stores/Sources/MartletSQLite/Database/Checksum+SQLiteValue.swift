@_spi(Stores) import MartletEngine
@_spi(Toolkit) import MartletSemantics

extension Checksum {
  /// The checksum as sixteen hexadecimal digits.
  var text: String { UInt64(bitPattern: value).digits(16, radix: 16) }

  /// Returns the value of a checksum in sixteen lower-case hexadecimal digits; nil for any other text.
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

  mutating func add(_ value: SQLiteValue) {
    switch value {
    case .null: add(0 as UInt64)
    case .integer(let value): add(UInt64(bitPattern: value))
    case .real(let value): add(value.bitPattern)
    case .text(var text): text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    case .blob(let bytes): bytes.withUnsafeBytes { add($0) }
    }
  }
}
