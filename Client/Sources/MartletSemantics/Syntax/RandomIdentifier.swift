/// An identifier that cannot be guessed.
@_spi(Toolkit) public enum RandomIdentifier {
  /// Returns 128 random bits as 32 hexadecimal digits in lower case.
  public static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    let (high, low): (UInt64, UInt64) = (generator.next(), generator.next())
    return high.digits(16, radix: 16) + low.digits(16, radix: 16)
  }
}

extension UUID {
  /// Returns a random UUID (RFC 9562 §5.4). On Linux, `UUID()` opens, reads and closes a file for each one.
  @_spi(Toolkit) public static func random() -> UUID {
    var generator = SystemRandomNumberGenerator()
    let (version, variant): (UInt64, UInt64) = (4 << 12, 2 << 62)
    let high = generator.next() & ~(0xF << 12) | version
    let low = generator.next() & ~(3 << 62) | variant
    return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The text of RFC 9562 §4, in lower case.
  @_spi(Toolkit) public var lowercaseText: String {
    String(unsafeUninitializedCapacity: 36) { text in
      var end = 0
      func add(_ byte: UInt8) {
        text.initializeElement(at: end, to: byte)
        end += 1
      }
      func add(digit: UInt8) { add(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10) }
      withUnsafeBytes(of: uuid) { bytes in
        for index in bytes.indices {
          if index == 4 || index == 6 || index == 8 || index == 10 { add(UInt8(ascii: "-")) }
          add(digit: bytes[index] >> 4)
          add(digit: bytes[index] & 15)
        }
      }
      return end
    }
  }
}
