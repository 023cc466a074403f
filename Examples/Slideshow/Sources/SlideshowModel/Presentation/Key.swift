/// A key, however the front end hears of it.
package enum Key: Sendable, Hashable {
  case character(Character)
  case left, right, up, down
  case tab, enter, escape, backspace
  /// Ctrl-C.
  case interrupt
}
