import CGTK
import SlideshowModel

extension Key {
  /// The key for this number from GDK; nil for keys without a meaning here.
  init?(gdk value: UInt32) {
    switch Int32(bitPattern: value) {
    case GDK_KEY_Right, GDK_KEY_KP_Right: self = .right
    case GDK_KEY_Left, GDK_KEY_KP_Left: self = .left
    case GDK_KEY_Up, GDK_KEY_KP_Up: self = .up
    case GDK_KEY_Down, GDK_KEY_KP_Down: self = .down
    case GDK_KEY_Page_Up, GDK_KEY_KP_Page_Up: self = .pageUp
    case GDK_KEY_Page_Down, GDK_KEY_KP_Page_Down: self = .pageDown
    case GDK_KEY_Home, GDK_KEY_KP_Home: self = .home
    case GDK_KEY_End, GDK_KEY_KP_End: self = .end
    case GDK_KEY_Tab, GDK_KEY_ISO_Left_Tab: self = .tab
    case GDK_KEY_Return, GDK_KEY_KP_Enter: self = .enter
    case GDK_KEY_Escape: self = .escape
    case GDK_KEY_F11: self = .f11
    case GDK_KEY_F5: self = .f5
    default:
      guard let scalar = Unicode.Scalar(gdk_keyval_to_unicode(value)), scalar.value >= 0x20 else { return nil }
      self = .character(Character(scalar))
    }
  }

  /// Whether another key is pressed that gives this one another meaning, which belongs to the system.
  static func isModified(_ state: Int) -> Bool {
    let modifiers = GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue | GDK_SUPER_MASK.rawValue
    return UInt32(truncatingIfNeeded: state) & modifiers != 0
  }
}
