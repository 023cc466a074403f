extension String {
  /// Text from other people in a safe form. Control characters become spaces, so that it starts no lines of its own and
  /// does not control a terminal. Characters that change the direction of the text (U+202A to U+202E, U+2066 to U+2069)
  /// become U+FFFD, so that it cannot look like another text.
  @_spi(Toolkit) public var printable: String {
    // A text without these bytes needs no changes: ASCII's control characters, the first byte of the control characters
    // from U+0080 on (0xC2), and the first byte of the characters that change the direction (0xE2).
    var text = self
    guard text.withUTF8({ $0.contains { $0 < 32 || $0 == 127 || $0 == 0xC2 || $0 == 0xE2 } }) else { return self }
    let scalars = unicodeScalars.map { scalar -> Unicode.Scalar in
      if scalar.properties.generalCategory == .control { return " " }
      return scalar.changesDirection ? "\u{FFFD}" : scalar
    }
    return String(String.UnicodeScalarView(scalars))
  }
}

extension Unicode.Scalar {
  /// Whether it embeds, overrides or isolates a writing direction.
  @_spi(Toolkit) public var changesDirection: Bool {
    (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value)
  }
}

extension Data {
  /// Returns the first bytes of a text in UTF-8, without the parts of a character that the limit cuts: they would make
  /// the text invalid.
  @_spi(Toolkit) public func prefixOfText(_ limit: Int) -> Data {
    guard count > limit else { return self }
    let limit = startIndex + limit
    let end = (0...3).map { limit - $0 }.first { $0 >= startIndex && self[$0] & 0xC0 != 0x80 } ?? limit
    return self[..<end]
  }
}
