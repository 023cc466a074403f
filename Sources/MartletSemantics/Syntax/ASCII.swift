/// Case and white space as HTTP means them: ASCII only, whatever the locale.
package enum ASCII {
  package static func lowercased(_ text: some StringProtocol) -> String {
    String(decoding: text.utf8.map(lowercased), as: UTF8.self)
  }

  package static func lowercased(_ byte: UInt8) -> UInt8 {
    (65...90).contains(byte) ? byte | 0x20 : byte
  }

  package static func equalIgnoringCase(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  /// OWS of RFC 9110 §5.6.3: space and horizontal tab.
  package static func isWhitespace(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

  package static func trimmed(_ text: String) -> Substring { trimmed(text[...]) }

  package static func trimmed(_ text: Substring) -> Substring {
    guard let first = text.utf8.firstIndex(where: { !isWhitespace($0) }),
      let last = text.utf8.lastIndex(where: { !isWhitespace($0) })
    else { return text[text.endIndex...] }
    return text[first...last]
  }
}
