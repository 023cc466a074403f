import MartletEngine

extension String {
  /// The text of others as it may be shown: with spaces for control characters, and without what changes the order of
  /// the characters that follow, so that a text cannot look like another one (U+202A to U+202E, U+2066 to U+2069).
  var printable: String {
    let text = withoutControls
    guard text.unicodeScalars.contains(where: \.changesDirection) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.changesDirection ? "\u{FFFD}" : $0 }))
  }
}

extension Unicode.Scalar {
  /// Whether it embeds, overrides or isolates a direction of writing.
  var changesDirection: Bool { (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value) }
}
