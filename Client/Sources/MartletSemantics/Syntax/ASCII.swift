/// Case conversion and white space of ASCII only, independent of the locale, as HTTP requires.
@_spi(Toolkit) public enum ASCII {
  public static func lowercased(_ text: some StringProtocol) -> String {
    let bytes = text.utf8
    let count = bytes.count
    return String(unsafeUninitializedCapacity: count) { buffer in
      var length = 0
      for byte in bytes {
        buffer[length] = lowercased(byte)
        length += 1
      }
      return length
    }
  }

  public static func lowercased(_ byte: UInt8) -> UInt8 {
    (65...90).contains(byte) ? byte | 0x20 : byte
  }

  public static func equalIgnoringCase(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  /// Does the same for strings: a generic function of another module is not specialized, and takes ten times as long.
  public static func equalIgnoringCase(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  public static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

  public static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) }

  /// Returns the value of a hexadecimal digit of either case; nil for any other byte.
  public static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 48...57: byte - 48
    case 65...70: byte - 55
    case 97...102: byte - 87
    default: nil
    }
  }

  /// OWS of RFC 9110 §5.6.3: space and horizontal tab.
  public static func isWhitespace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

  /// CTL of RFC 5234. Apart from the tab, none of these is allowed in a field value.
  package static func isControl(_ byte: UInt8) -> Bool { byte < 32 || byte == 127 }

  public static func trimmed(_ text: String) -> Substring { trimmed(text[...]) }

  public static func trimmed(_ text: Substring) -> Substring {
    guard let first = text.utf8.firstIndex(where: { !isWhitespace($0) }),
      let last = text.utf8.lastIndex(where: { !isWhitespace($0) })
    else { return text[text.endIndex...] }
    // Not `first...last`: a closed range of a string ends after a character, but these are indices of bytes.
    return text[first..<text.utf8.index(after: last)]
  }
}
