import CGTK

/// A widget of GTK, borrowed from its parent. For everything not mentioned here, use GTK's C functions.
@MainActor
struct Widget {
  let pointer: UnsafeMutablePointer<GtkWidget>
  /// The same, for the functions of classes whose structure is hidden in GTK.
  var opaque: OpaquePointer { OpaquePointer(pointer) }

  /// The same, for the functions of classes whose structure is public in GTK.
  func cast<Class>(to _: Class.Type = Class.self) -> UnsafeMutablePointer<Class> {
    UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: Class.self)
  }

  func setVisible(_ isVisible: Bool) { gtk_widget_set_visible(pointer, isVisible ? 1 : 0) }
  func focus() { gtk_widget_grab_focus(pointer) }
  /// The text for a screen reader.
  func setAccessibleLabel(_ text: String) { cgtk_set_accessible_label(pointer, text) }

  func setClass(_ name: String, _ isOn: Bool) {
    if isOn { gtk_widget_add_css_class(pointer, name) } else { gtk_widget_remove_css_class(pointer, name) }
  }

  /// The text that is shown while the pointer rests there, also for a screen reader.
  func explain(_ text: String, _ label: String) {
    gtk_widget_set_tooltip_text(pointer, text)
    setAccessibleLabel(label)
  }

  /// For labels.
  func setText(_ text: String) { gtk_label_set_text(opaque, text) }

  /// For stacks: shows the child of that name.
  func show(_ name: String) { gtk_stack_set_visible_child_name(opaque, name) }

  /// For buttons.
  func onClick(_ handler: @escaping @MainActor () -> Void) { Signal.connect(opaque, "clicked", handler) }

  /// Adds a controller, which the widget owns from now on.
  func add(_ controller: OpaquePointer) { gtk_widget_add_controller(pointer, controller) }
}

/// Makes the widgets that a layout describes, and retains them until a parent does.
@MainActor
struct Builder {
  private let builder: OpaquePointer

  /// Makes the widgets and lends them to `body`. Afterwards only windows and widgets that belong to another widget
  /// remain.
  static func build<Value>(_ layout: String, _ body: (Builder) -> Value) -> Value {
    let builder = Builder(builder: gtk_builder_new_from_string(layout, -1))
    defer { g_object_unref(UnsafeMutableRawPointer(builder.builder)) }
    return body(builder)
  }

  /// The widget with that id. This program guarantees that the layout has it.
  subscript(id: String) -> Widget {
    guard let object = gtk_builder_get_object(builder, id) else {
      preconditionFailure("the layout has no '\(id)'")
    }
    return Widget(pointer: UnsafeMutableRawPointer(object).assumingMemoryBound(to: GtkWidget.self))
  }
}
