/// Text for the values of fields whose bytes must come back as they came, whatever they are: those of cookies.
///
/// A server may put bytes into a cookie that are no UTF-8, and means to get these bytes again, not the UTF-8 of what they
/// were taken for. In text, such a byte is one of the last 128 characters of Unicode's last private plane, U+10FF80 to
/// U+10FFFF, whose low byte it is.
package enum FieldOctets {
  /// The text of bytes: UTF-8 where they are that. If not, every byte beyond ASCII is a private character, which also holds
  /// where UTF-8 would have such a character in it: no two values have the same text.
  package static func text(_ bytes: some Collection<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self), !hasOctets(text) { return text }
    var text = String.UnicodeScalarView()
    for byte in bytes {
      text.append(byte < 128 ? Unicode.Scalar(byte) : Unicode.Scalar(0x10_FF00 + UInt32(byte)) ?? "\u{FFFD}")
    }
    return String(text)
  }

  /// The bytes of text.
  package static func bytes(_ text: String) -> [UInt8] {
    guard hasOctets(text) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap {
      isOctet($0) ? [UInt8(truncatingIfNeeded: $0.value)] : Array(UTF8.encode($0) ?? .init())
    }
  }

  /// How many bytes the text stands for.
  package static func count(_ text: some StringProtocol) -> Int {
    guard hasOctets(text) else { return text.utf8.count }
    return text.unicodeScalars.reduce(0) { $0 + (isOctet($1) ? 1 : UTF8.width($1)) }
  }

  /// Whether the text's UTF-8 is something else than the bytes that it stands for.
  package static func hasOctets(_ text: some StringProtocol) -> Bool {
    // Only characters of that plane begin with this byte.
    text.utf8.contains(0xF4) && text.unicodeScalars.contains(where: isOctet)
  }

  private static func isOctet(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x10_FF80 }
}
