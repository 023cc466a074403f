/// Styles for highlighted text.
enum Style {
  static func bold(_ text: String) -> String { styled("1", text) }
  static func dim(_ text: String) -> String { styled("2", text) }
  static func inverse(_ text: String) -> String { styled("7", text) }

  private static func styled(_ code: String, _ text: String) -> String { "\u{1B}[\(code)m\(text)\u{1B}[0m" }
}
