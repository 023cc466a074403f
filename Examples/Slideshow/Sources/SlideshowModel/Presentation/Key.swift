/// A key, independent of the front end.
package enum Key: Sendable, Hashable {
  case character(Character)
  case left, right, up, down, pageUp, pageDown
  case tab, enter, escape, backspace
  case f5, f11
  /// Ctrl-C.
  case interrupt

  /// Its name in the help.
  package var name: String {
    switch self {
    case .character(" "): "space"
    case .character(let character): String(character)
    case .left: "←"
    case .right: "→"
    case .up: "↑"
    case .down: "↓"
    case .pageUp: "PgUp"
    case .pageDown: "PgDn"
    case .tab: "tab"
    case .enter: "enter"
    case .escape: "esc"
    case .backspace: "backspace"
    case .f5: "F5"
    case .f11: "F11"
    case .interrupt: "Ctrl-C"
    }
  }
}
