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

  /// The colors of the roles; messages about success and failure always have the terminal's colors.
  enum Theme: String, Sendable, CaseIterable {
    case auto, fruity, monokai, solarized

    fileprivate func code(of style: Style) -> String {
      switch (self, style) {
      case (.fruity, .name): "38;5;198"
      case (.fruity, .text): "38;5;39"
      case (.fruity, .number): "38;5;45"
      case (.fruity, .literal): "38;5;208"
      case (.monokai, .name): "38;5;197"
      case (.monokai, .text): "38;5;186"
      case (.monokai, .number), (.monokai, .literal): "38;5;141"
      case (.solarized, .name): "38;5;33"
      case (.solarized, .text): "38;5;37"
      case (.solarized, .number): "38;5;61"
      case (.solarized, .literal): "38;5;136"
      default: style.rawValue
      }
    }
  }

  let isColored: Bool
  var theme = Theme.auto

  static let plain = Palette(isColored: false)

  func begin(_ style: Style) -> String { isColored ? "\u{1B}[\(theme.code(of: style))m" : "" }

  var end: String { isColored ? "\u{1B}[0m" : "" }

  func text(_ text: String, _ style: Style) -> String { begin(style) + text + end }
}
