/// A key, independent of the front end.
package enum Key: Sendable, Hashable {
  case character(Character)
  case left, right, up, down, pageUp, pageDown, home, end
  case tab, enter, escape, backspace, delete
  case f5, f11
  /// Ctrl-U, which erases a line up to the cursor.
  case eraseLine
  /// Ctrl-C.
  case interrupt
  /// Ctrl-Z, which stops a program until its shell continues it.
  case suspend

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
    case .home: "Home"
    case .end: "End"
    case .tab: "tab"
    case .enter: "enter"
    case .escape: "esc"
    case .backspace: "backspace"
    case .delete: "delete"
    case .f5: "F5"
    case .f11: "F11"
    case .eraseLine: "Ctrl-U"
    case .interrupt: "Ctrl-C"
    case .suspend: "Ctrl-Z"
    }
  }
}
