// What keys, clicks and swipes mean.
extension SlideshowState {
  mutating func press(_ key: Key) -> [SlideshowEffect] {
    if key == .interrupt { return [.quit] }
    if let draft { return edit(draft, key) }
    return command(for: key).map { obey($0) } ?? []
  }

  private func command(for key: Key) -> SlideshowCommand? {
    switch key {
    case .tab: .show(tab == .manage ? .present : .manage)
    case .right, .down: .next
    case .left, .up: .previous
    case .enter: tab == .manage ? .show(.present) : .fullScreen(!isFullScreen)
    case .escape: isFullScreen ? .fullScreen(false) : .dismissNotice
    case .character(let character): command(for: character)
    case .backspace, .interrupt: nil
    }
  }

  private func command(for character: Character) -> SlideshowCommand? {
    switch character {
    case "1": .show(.manage)
    case "2": .show(.present)
    case " ", "n": .next
    case "p": .previous
    case "f", "z": .fullScreen(!isFullScreen)
    case "h": .toggleFavorite(nil)
    case "r": .reload
    case "t": .beginTitle
    case "q": .quit
    default: nil
    }
  }

  /// While the title is edited: enter keeps the draft, escape drops it.
  private mutating func edit(_ text: String, _ key: Key) -> [SlideshowEffect] {
    switch key {
    case .character(let character): draft = text + String(character)
    case .backspace: draft = String(text.dropLast())
    case .escape: return obey(.dropTitle)
    case .enter: return obey(.keepTitle(text))
    default: break
    }
    return []
  }

  /// How long a click waits for a second one.
  static let doubleClickTime = Duration.milliseconds(250)

  /// A click is the next slide, a double click full screen and back.
  mutating func click(_ count: Int) -> [SlideshowEffect] {
    clickNumber += 1
    switch count {
    case 1: return [.wait(.click(clickNumber), Self.doubleClickTime)]
    case 2: return obey(.fullScreen(!isFullScreen))
    default: return []
    }
  }

  /// The points that a swipe takes at least. What is shorter is a click of an unsteady hand.
  package static let swipeLength = 21.0

  /// A swipe to either side is the next slide; the pages are turned to the side of the swipe.
  mutating func swipe(_ x: Double, _ y: Double) -> [SlideshowEffect] {
    guard abs(x) > Self.swipeLength, abs(x) > abs(y) else { return [] }
    let effects = obey(.next)
    turn = x < 0 ? .forward : .backward
    return effects
  }
}
