/// Makes foreign text safe for a terminal: removes control sequences, and cuts long text.
package enum DisplayText {
  /// The text on one line, without control characters and marks that turn the direction of writing.
  package static func harmless(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x09, 0x0A, 0x0D: result += " "
      case 0x00..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The number of columns of the text.
  package static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

  /// The text, made harmless, in at most this number of columns; `…` replaces the part that was cut off.
  package static func cut(_ text: String, to columns: Int) -> String {
    let text = harmless(text)
    guard width(text) > columns else { return text }
    var result = ""
    var room = columns - 1
    for character in text {
      room -= width(character)
      guard room >= 0 else { break }
      result.append(character)
    }
    return columns > 0 ? result + "…" : ""
  }

  /// The text in lines of at most this number of columns, broken at spaces if possible.
  package static func wrapped(_ text: String, columns: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in harmless(text).split(separator: " ") {
      var word = String(word)
      if !line.isEmpty, width(line) + 1 + width(word) > columns {
        lines.append(line)
        line = ""
      }
      while width(word) > columns, word.count > 1 {
        var room = columns
        let head = word.prefix { character in
          room -= width(character)
          return room >= 0
        }
        lines.append(head.isEmpty ? String(word.prefix(1)) : String(head))
        word.removeFirst(max(1, head.count))
      }
      line += line.isEmpty ? word : " " + word
    }
    return line.isEmpty ? lines : lines + [line]
  }

  /// As many of the parts, in their order, as fit into this number of columns together.
  ///
  /// - Parameter kept: a part that remains when others are dropped, unless it does not fit by itself.
  package static func joined(
    _ parts: [String], separator: String, columns: Int, keeping kept: String? = nil
  ) -> String {
    var parts = parts.map(harmless)
    while true {
      let text = parts.joined(separator: separator)
      if width(text) <= columns { return text }
      guard let last = parts.lastIndex(where: { $0 != kept }) else { return cut(text, to: columns) }
      if parts.count == 1 { return cut(text, to: columns) }
      parts.remove(at: last)
    }
  }

  /// The text centred in this number of columns.
  static func centered(_ text: String, in columns: Int) -> String {
    let gap = max(0, columns - width(text))
    return String(repeating: " ", count: gap / 2) + text + String(repeating: " ", count: gap - gap / 2)
  }

  private static func width(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    if character.unicodeScalars.count > 1, character.unicodeScalars.contains("\u{FE0F}") { return 2 }
    switch first.value {
    case 0x0300...0x036F, 0x200B...0x200F: return 0
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
      0xFFE0...0xFFE6, 0x20000...0x3FFFD:
      return 2
    default: return first.properties.isEmojiPresentation ? 2 : 1
    }
  }
}
