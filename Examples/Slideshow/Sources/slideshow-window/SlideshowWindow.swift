import CGTK
import MartletImages
import SlideshowLaunch
import SlideshowModel

/// The slideshow in a window. It draws the state and sends the user's events; everything else is in the model.
@MainActor
final class SlideshowWindow {
  private let loop = g_main_loop_new(nil, 0)
  private let window: Widget
  private let tabs: Widget
  private let footer: Widget
  private let status: Widget
  private let statistics: Widget
  private let remark: Widget
  private let remarkText: Widget
  private let remarkSymbol: Widget
  private let remarkDetails: Widget
  private let dismiss: Widget
  private let play: Widget
  private let panel: Widget
  private let panelText: Widget
  private let manage: ManageTab
  private let present: PresentTab
  private var presenter: Presenter?
  private var isDrawing = false
  private var tab: SlideshowState.Tab?
  private var isFullScreen = false
  private var isPlaying: Bool?
  private var panelLines: [String] = []
  private var hasStarted = false

  /// Makes the window; it is not shown yet.
  static func make() -> SlideshowWindow { Builder.build(WindowLayout.window) { SlideshowWindow($0) } }

  private init(_ builder: Builder) {
    window = builder["window"]
    tabs = builder["tabs"]
    footer = builder["footer"]
    status = builder["status"]
    statistics = builder["statistics"]
    remark = builder["remark"]
    remarkText = builder["remarkText"]
    remarkSymbol = builder["remarkSymbol"]
    remarkDetails = builder["remarkDetails"]
    dismiss = builder["dismiss"]
    play = builder["play"]
    panel = builder["panel"]
    panelText = builder["panelText"]
    let window = Reference()
    let tell: @MainActor (SlideshowEvent) -> Void = { window.target?.handle($0) }
    manage = ManageTab(builder, tell: tell)
    present = PresentTab(builder, tell: tell)
    window.target = self
    watchButtons(builder, tell)
    Style.apply(WindowLayout.style)
    watchTabs()
    watchKeys()
    watchWindow()
  }

  /// The parts' reference to the window, which is made after them.
  private final class Reference {
    weak var target: SlideshowWindow?
  }

  /// Shows the slideshow until the window is closed, or the user quits.
  func run(_ launch: Launch) {
    // The true size comes with the first layout. Only then is there anything to load.
    let size = PixelSize(width: 960, height: 600)
    let presenter = launch.makePresenter(viewport: Viewport(fit: size, fill: size)) { [unowned self] in draw($0) }
    self.presenter = presenter
    Task.detached { [self] in
      for await event in presenter.events { MainLoop.post { self.handle(event) } }
    }
    draw(presenter.state)
    gtk_window_present(window.cast())
    present.focus()
    g_main_loop_run(loop)
    gtk_window_destroy(window.cast())
  }

  func handle(_ event: SlideshowEvent) {
    guard !isDrawing, let presenter else { return }
    if case .resized = event, !hasStarted {
      hasStarted = true
      MainLoop.post { [self] in handle(.started) }
    }
    if !presenter.handle(event) {
      self.presenter = nil
      g_main_loop_quit(loop)
    }
  }

  // MARK: - Display

  /// Signals from GTK during this call are caused by the drawing, not by the user.
  private func draw(_ state: SlideshowState) {
    isDrawing = true
    defer { isDrawing = false }
    gtk_window_set_title(window.cast(), state.windowTitle)
    manage.draw(state)
    present.draw(state)
    footer.setVisible(!state.isFullScreen)
    status.setText(state.statusParts.joined(separator: " · "))
    statistics.setText(state.slides.isEmpty ? "" : state.counts.description)
    drawRemark(state)
    drawPlay(isPlaying: state.autoplay == .playing)
    drawPanel(state)
    drawTab(state.tab)
    drawFullScreen(state.isFullScreen)
  }

  private func drawRemark(_ state: SlideshowState) {
    if let remark = state.remark { remarkText.setText(remark.sentence) }
    remarkDetails.setVisible(state.remark?.details.isEmpty == false)
    let isNotice = state.notice != nil
    gtk_image_set_from_icon_name(
      remarkSymbol.opaque, isNotice ? "dialog-information-symbolic" : "network-offline-symbolic")
    dismiss.setVisible(isNotice)
    remark.setVisible(state.remark != nil && !state.isFullScreen)
  }

  private func drawPlay(isPlaying: Bool) {
    guard isPlaying != self.isPlaying else { return }
    self.isPlaying = isPlaying
    gtk_button_set_icon_name(play.cast(), isPlaying ? "media-playback-pause-symbolic" : "media-playback-start-symbolic")
    play.explain(isPlaying ? "Stop the auto-play (a)" : "Show one slide after another (a)", isPlaying ? "Stop" : "Play")
  }

  private func drawPanel(_ state: SlideshowState) {
    let lines: [String] =
      switch state.panel {
      case .help: KeyBinding.help(for: .window)
      case .details: state.details
      case nil: []
      }
    guard lines != panelLines else { return }
    panelLines = lines
    panelText.setText(lines.joined(separator: "\n"))
    panel.setVisible(!lines.isEmpty)
  }

  private func drawTab(_ tab: SlideshowState.Tab) {
    guard tab != self.tab else { return }
    self.tab = tab
    tabs.show(tab == .manage ? "manage" : "present")
    if tab == .manage { manage.focus() } else { present.focus() }
  }

  private func drawFullScreen(_ isOn: Bool) {
    guard isOn != isFullScreen else { return }
    isFullScreen = isOn
    if isOn { gtk_window_fullscreen(window.cast()) } else { gtk_window_unfullscreen(window.cast()) }
  }

  // MARK: - Input

  private func watchButtons(_ builder: Builder, _ tell: @escaping @MainActor (SlideshowEvent) -> Void) {
    builder["reload"].onClick { tell(.command(.reload)) }
    builder["fullscreen"].onClick { tell(.command(.fullScreen(true))) }
    // Like their keys, these buttons depend on the state.
    for (button, key) in [(play, "a"), (builder["help"], "?"), (builder["details"], "d")] as [(Widget, Character)] {
      button.onClick { [unowned self] in
        if let state = presenter?.state, let command = KeyBinding.command(for: .character(key), in: state) {
          tell(.command(command))
        }
      }
    }
    builder["closePanel"].onClick { tell(.command(.panel(nil))) }
    remarkDetails.onClick { tell(.command(.panel(.details))) }
    dismiss.onClick { tell(.command(.dismissNotice)) }
  }

  private func watchTabs() {
    Signal.connect(tabs.opaque, "notify::visible-child-name") { [unowned self] in
      let name = gtk_stack_get_visible_child_name(tabs.opaque).map { String(cString: $0) }
      let shown = name == "manage" ? SlideshowState.Tab.manage : .present
      if shown != tab { handle(.command(.show(shown))) }
    }
  }

  /// Keys have the same meaning wherever the focus is, except while the title is edited.
  private func watchKeys() {
    let keys: OpaquePointer = gtk_event_controller_key_new()
    gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
    Signal.connect(keys, "key-pressed") { [unowned self] arguments in
      guard arguments.count == 3, case .number(let value) = arguments[0], case .number(let modifiers) = arguments[2],
        !Key.isModified(modifiers), let key = Key(gdk: UInt32(truncatingIfNeeded: value))
      else { return false }
      if presenter?.state.draft != nil, key != .escape { return false }
      handle(.key(key))
      return true
    }
    window.add(keys)
  }

  private func watchWindow() {
    Signal.connect(window.opaque, "close-request") { [unowned self] _ in
      handle(.command(.quit))
      return true
    }
    // The desktop has its own keys for full screen.
    Signal.connect(window.opaque, "notify::fullscreened") { [unowned self] in
      let isOn = gtk_window_is_fullscreen(window.cast()) != 0
      guard isOn != isFullScreen else { return }
      isFullScreen = isOn
      handle(.command(.fullScreen(isOn)))
    }
  }
}
