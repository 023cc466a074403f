/// Colors text for a terminal, or leaves it unchanged.
struct Palette: Sendable {
  /// The role of a piece of text.
  enum Style: String, Sendable {
    case name = "34"
    case text = "32"
    case number = "36"
    case literal = "35"
    case dimmed = "2"
    case strong = "1"
    case good = "1;32"
    case notice = "1;33"
    case bad = "1;31"
  }

  let isColored: Bool

  static let plain = Palette(isColored: false)

  func begin(_ style: Style) -> String { isColored ? "\u{1B}[\(style.rawValue)m" : "" }

  var end: String { isColored ? "\u{1B}[0m" : "" }

  func text(_ text: String, _ style: Style) -> String { begin(style) + text + end }
}
