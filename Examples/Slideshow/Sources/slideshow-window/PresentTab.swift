import CGTK
import MartletImages
import SlideshowModel

/// The Present tab: one slide after another, on two pages that are turned.
@MainActor
final class PresentTab {
  private let tell: @MainActor (SlideshowEvent) -> Void
  private let root: Widget
  private let stage: Widget
  private let room: Widget
  private let stack: Widget
  private let heart: Widget
  private let caption: Widget
  private let back: Widget
  private let next: Widget
  private let pages: [PicturePage]
  private var front = 0
  private var slide: SlideID?
  private var isFavorite: Bool?
  private var canTurn: Bool?
  private var pressedAt = 0.0
  private var pulse = 1
  private var resizing: UInt32?
  private var viewport: Viewport?
  private var isFullScreen = false

  init(_ builder: Builder, tell: @escaping @MainActor (SlideshowEvent) -> Void) {
    self.tell = tell
    root = builder["present"]
    stage = builder["stage"]
    room = builder["room"]
    stack = builder["pages"]
    heart = builder["heart"]
    caption = builder["caption"]
    let explain: @MainActor () -> Void = { tell(.command(.panel(.details))) }
    pages = [PicturePage.make(in: stack, explain: explain), PicturePage.make(in: stack, explain: explain)]
    back = builder["back"]
    next = builder["next"]
    back.onClick { tell(.command(.previous)) }
    next.onClick { tell(.command(.next)) }
    heart.onClick { tell(.command(.toggleFavorite(nil))) }
    watchRoom()
    watchClicks()
    watchSwipes()
  }

  func focus() { root.focus() }

  func draw(_ state: SlideshowState) {
    isFullScreen = state.isFullScreen
    let current = state.currentSlide
    let isTurned = slide != nil && current != nil && current?.id != slide
    slide = current?.id
    if isTurned { front = 1 - front }
    pages[front].draw(state)
    if isTurned { turn(state.turn) }
    caption.setVisible(!state.isFullScreen)
    caption.setText(current?.caption ?? "")
    stage.setClass("is-full", state.isFullScreen)
    draw(canTurn: state.slides.count > 1)
    draw(heartOf: current, state, isTurned: isTurned)
  }

  /// Shows that the picture can be clicked: with a button at either side, and the pointer's shape.
  private func draw(canTurn: Bool) {
    guard canTurn != self.canTurn else { return }
    self.canTurn = canTurn
    for button in [back, next] { button.setVisible(canTurn) }
    gtk_widget_set_cursor_from_name(stack.pointer, canTurn ? "pointer" : nil)
  }

  private func turn(_ turn: SlideshowState.Turn) {
    let type = turn == .forward ? GTK_STACK_TRANSITION_TYPE_SLIDE_LEFT : GTK_STACK_TRANSITION_TYPE_SLIDE_RIGHT
    gtk_stack_set_transition_type(stack.opaque, type)
    gtk_stack_set_visible_child(stack.opaque, pages[front].root.pointer)
  }

  /// The heart is full for a favourite, and beats when that changes.
  private func draw(heartOf slide: Slide?, _ state: SlideshowState, isTurned: Bool) {
    heart.setVisible(slide != nil)
    guard let slide else { return isFavorite = nil }
    let isNow = state.isFavorite(slide)
    guard isNow != isFavorite else { return }
    if !isTurned, isFavorite != nil {
      // The same animation starts again only if it has another name.
      heart.setClass("pulse-\(pulse)", false)
      pulse = 3 - pulse
      heart.setClass("pulse-\(pulse)", true)
    }
    isFavorite = isNow
    heart.draw(heart: isNow)
  }

  private func watchRoom() {
    Signal.connect(room.opaque, "resize") { [self] in
      // Nothing may be drawn again in the middle of a layout. While the window is being resized, only its final size
      // needs a picture; the first size always does.
      if let resizing { MainLoop.cancel(resizing) }
      resizing = MainLoop.post(after: viewport == nil ? 0 : 60) { [self] in
        resizing = nil
        tell(.resized(measure()))
      }
    }
  }

  /// The room for the picture, in pixels of the screen. Its size in full screen is known in advance, so the picture for
  /// it need not be made twice.
  private func measure() -> Viewport {
    let scale = gtk_widget_get_scale_factor(room.pointer)
    let size = Self.size(gtk_widget_get_width(room.pointer), gtk_widget_get_height(room.pointer), scale)
    var new = viewport ?? Viewport(fit: size, fill: monitor(scale) ?? size)
    new.thumbnail = Self.size(Int32(WindowLayout.thumbnailWidth), Int32(WindowLayout.thumbnailHeight), scale)
    if isFullScreen { new.fill = size } else { new.fit = size }
    viewport = new
    return new
  }

  private func monitor(_ scale: Int32) -> PixelSize? {
    guard let surface = gtk_native_get_surface(gtk_widget_get_native(room.pointer)),
      let monitor = gdk_display_get_monitor_at_surface(gtk_widget_get_display(room.pointer), surface)
    else { return nil }
    var geometry = GdkRectangle()
    gdk_monitor_get_geometry(monitor, &geometry)
    return Self.size(geometry.width, geometry.height, scale)
  }

  private static func size(_ width: Int32, _ height: Int32, _ scale: Int32) -> PixelSize {
    PixelSize(width: Int(max(1, width * scale)), height: Int(max(1, height * scale)))
  }

  private func watchClicks() {
    let click: OpaquePointer = gtk_gesture_click_new()
    Signal.connect(click, "pressed") { [self] arguments in
      if arguments.count == 3, case .fraction(let x) = arguments[1] { pressedAt = x }
      return false
    }
    Signal.connect(click, "released") { [self] arguments in
      // If a drag is over before GTK reported a motion, it ends as a click, too.
      guard arguments.count == 3, case .number(let count) = arguments[0], case .fraction(let x) = arguments[1],
        abs(x - pressedAt) <= SlideshowState.swipeLength
      else { return false }
      tell(.click(count, at: x / Double(max(1, gtk_widget_get_width(stack.pointer)))))
      return false
    }
    stack.add(click)
  }

  private func watchSwipes() {
    let drag: OpaquePointer = gtk_gesture_drag_new()
    Signal.connect(drag, "drag-update") { arguments in
      // From here on it is not a click any more.
      if let offset = Self.offset(arguments), abs(offset.x) > SlideshowState.swipeLength {
        gtk_gesture_set_state(drag, GTK_EVENT_SEQUENCE_CLAIMED)
      }
      return false
    }
    Signal.connect(drag, "drag-end") { [tell] arguments in
      if let offset = Self.offset(arguments) { tell(.swipe(x: offset.x, y: offset.y)) }
      return false
    }
    stack.add(drag)
  }

  private static func offset(_ arguments: [SignalArgument]) -> (x: Double, y: Double)? {
    guard arguments.count == 2, case .fraction(let x) = arguments[0], case .fraction(let y) = arguments[1] else {
      return nil
    }
    return (x, y)
  }
}

extension Widget {
  /// For buttons: a heart, full or empty.
  func draw(heart isFull: Bool) {
    gtk_button_set_label(cast(), isFull ? "♥" : "♡")
    setClass("is-favorite", isFull)
    setAccessibleLabel(isFull ? "Favourite. Take the mark away" : "No favourite. Mark it")
  }
}
