import CGTK

/// Whether the desktop prefers dark windows. This is the setting `color-scheme` of the desktop portal, because GTK 4.8
/// does not read it. Without a portal, GTK's own settings apply.
@MainActor
enum DarkStyle {
  private static let portal = "org.freedesktop.portal.Desktop"
  private static let path = "/org/freedesktop/portal/desktop"
  private static let interface = "org.freedesktop.portal.Settings"
  private static let namespace = "org.freedesktop.appearance"
  private static let key = "color-scheme"

  /// Follows the setting from now on.
  static func follow() {
    // Without an address, GLib would start a bus of its own.
    guard g_getenv("DBUS_SESSION_BUS_ADDRESS") != nil, let bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil) else {
      return
    }
    g_dbus_connection_signal_subscribe(
      bus, portal, interface, "SettingChanged", path, namespace, G_DBUS_SIGNAL_FLAGS_NONE,
      { _, _, _, _, _, arguments, _ in
        guard let arguments, DarkStyle.text(arguments, 1) == "color-scheme" else { return }
        DarkStyle.apply(DarkStyle.number(arguments, 2))
      }, nil, nil)
    let question = g_variant_parse(nil, "('\(namespace)', '\(key)')", nil, nil, nil)
    g_dbus_connection_call(
      bus, portal, path, interface, "Read", question, nil, G_DBUS_CALL_FLAGS_NONE, 2000, nil,
      { bus, result, _ in
        guard let answer = g_dbus_connection_call_finish(bus.map { OpaquePointer($0) }, result, nil) else { return }
        DarkStyle.apply(DarkStyle.number(answer, 0))
        g_variant_unref(answer)
      }, nil)
    if let question { g_variant_unref(question) }
  }

  /// 1 is dark, 2 is light, 0 is neither.
  private nonisolated static func apply(_ scheme: UInt32?) {
    if let scheme { cgtk_prefer_dark(scheme == 1 ? 1 : 0) }
  }

  private nonisolated static func text(_ tuple: OpaquePointer, _ index: Int) -> String? {
    guard g_variant_n_children(tuple) > index, let child = g_variant_get_child_value(tuple, gsize(index)) else {
      return nil
    }
    defer { g_variant_unref(child) }
    return g_variant_get_string(child, nil).map { String(cString: $0) }
  }

  /// The number inside, however many variants enclose it.
  private nonisolated static func number(_ tuple: OpaquePointer, _ index: Int) -> UInt32? {
    guard g_variant_n_children(tuple) > index, var value = g_variant_get_child_value(tuple, gsize(index)) else {
      return nil
    }
    defer { g_variant_unref(value) }
    while g_variant_classify(value) == G_VARIANT_CLASS_VARIANT, let inner = g_variant_get_variant(value) {
      g_variant_unref(value)
      value = inner
    }
    return g_variant_classify(value) == G_VARIANT_CLASS_UINT32 ? g_variant_get_uint32(value) : nil
  }
}
