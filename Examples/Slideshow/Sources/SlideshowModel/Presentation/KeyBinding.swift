/// An action of the user, and its keys. Together these are the table in which keys are looked up, and from which every
/// help is made.
package struct KeyBinding: Sendable {
  /// The place where the mouse does the same.
  enum Mouse: Sendable, Hashable {
    case everywhere(String)
    /// In the window; in the terminal there is nothing to click for it.
    case window(String)
  }

  package let keys: [Key]
  /// The meaning of the keys.
  package let meaning: String
  /// The shortest description, for a line with the most important keys; nil if the action is not in that line.
  let label: (@Sendable (SlideshowState) -> String)?
  let mouse: Mouse?
  /// The command of the keys in a state; nil for none.
  let command: @Sendable (SlideshowState) -> SlideshowCommand?

  private init(
    _ keys: [Key], _ meaning: String, label: (@Sendable (SlideshowState) -> String)? = nil, mouse: Mouse? = nil,
    command: @escaping @Sendable (SlideshowState) -> SlideshowCommand?
  ) {
    self.keys = keys
    self.meaning = meaning
    self.label = label
    self.mouse = mouse
    self.command = command
  }

  /// The table, in the order of the help.
  package static let all: [KeyBinding] = [
    KeyBinding(
      [.right, .down, .pageDown, .character(" "), .character("n")], "next slide, around the end",
      label: { _ in "→ next" }, mouse: .everywhere("click; drag left")
    ) { _ in .next },
    KeyBinding(
      [.left, .up, .pageUp, .character("p")], "previous slide", label: { _ in "← back" },
      mouse: .everywhere("click left third; drag right")
    ) { _ in .previous },
    KeyBinding([.home], "first slide") { $0.slides.first.map { .select($0.id) } },
    KeyBinding([.end], "last slide") { $0.slides.last.map { .select($0.id) } },
    KeyBinding(
      [.character("a")], "auto-play: start, stop",
      label: { $0.autoplay == .playing ? "a stop" : "a play" }, mouse: .window("play button")
    ) { .autoplay($0.autoplay != .playing) },
    KeyBinding(
      [.character("h")], "favourite: mark, unmark", label: { _ in "h heart" }, mouse: .everywhere("the heart")
    ) { _ in .toggleFavorite(nil) },
    KeyBinding(
      [.character("f"), .character("z"), .f11], "full screen, and back", label: { _ in "f full screen" },
      mouse: .everywhere("double click")
    ) { .fullScreen(!$0.isFullScreen) },
    KeyBinding(
      [.tab], "list or picture", label: { $0.tab == .manage ? "tab picture" : "tab list" },
      mouse: .everywhere("the tabs")
    ) { .show($0.tab == .manage ? .present : .manage) },
    KeyBinding([.character("1")], "list (Manage)") { _ in .show(.manage) },
    KeyBinding([.character("2")], "picture (Present)") { _ in .show(.present) },
    KeyBinding(
      [.enter], "show the slide; full screen", mouse: .everywhere("double click")
    ) { $0.tab == .manage ? .show(.present) : .fullScreen(!$0.isFullScreen) },
    KeyBinding(
      [.character("t")], "edit the title (enter: keep)", mouse: .everywhere("the title")
    ) { _ in .beginTitle },
    KeyBinding([.character("r"), .f5], "load everything again", mouse: .window("arrow button")) { _ in .reload },
    KeyBinding([.character("d")], "details, also of errors", mouse: .window("Details button")) {
      .panel($0.panel == .details ? nil : .details)
    },
    KeyBinding([.character("?")], "this help", label: { _ in helpLabel }, mouse: .window("help button")) {
      .panel($0.panel == .help ? nil : .help)
    },
    KeyBinding([.escape], "close help, details, full screen") { state in
      state.panel != nil ? .panel(nil) : state.isFullScreen ? .fullScreen(false) : .dismissNotice
    },
    KeyBinding(
      [.character("q"), .interrupt], "quit", label: { _ in "q quit" }, mouse: .window("closing the window")
    ) { _ in .quit },
  ]

  /// The command of a key in a state; nil for none.
  package static func command(for key: Key, in state: SlideshowState) -> SlideshowCommand? {
    all.first { $0.keys.contains(key) }?.command(state)
  }
}

extension KeyBinding {
  /// The program that shows the slides, if that affects the words.
  package enum FrontEnd: Sendable, Hashable {
    case terminal, window
  }

  /// The keys by their names: `→ ↓ PgDn space n`. Ctrl-C is a key of terminals only.
  package func names(in frontEnd: FrontEnd) -> String {
    keys.filter { frontEnd == .terminal || $0 != .interrupt }.map(\.name).joined(separator: " ")
  }

  /// The mouse action with the same effect; nil if there is none.
  package func mouse(in frontEnd: FrontEnd) -> String? {
    switch mouse {
    case .everywhere(let text): text
    case .window(let text): frontEnd == .window ? text : nil
    case nil: nil
    }
  }

  /// The table as text of at most 76 columns: keys, their meaning, and the mouse action with the same effect.
  package static func help(for frontEnd: FrontEnd) -> [String] {
    all.map { binding in
      let line = padded(binding.names(in: frontEnd), to: 18) + padded(binding.meaning, to: 30)
      return (line + (binding.mouse(in: frontEnd) ?? "")).trimmedAtEnd
    }
  }

  /// The shortest descriptions of the most important keys, in the order of the table.
  package static func labels(in state: SlideshowState) -> [String] { all.compactMap { $0.label?(state) } }

  /// The description of the key that shows all of them.
  package static let helpLabel = "? all keys"

  private static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}

extension String {
  fileprivate var trimmedAtEnd: String {
    var text = self
    while text.last == " " { text.removeLast() }
    return text
  }
}
