// What keys, clicks and swipes mean.
extension SlideshowState {
  mutating func press(_ key: Key) -> [SlideshowEffect] {
    if key == .interrupt { return [.quit] }
    if let draft { return edit(draft, key) }
    return KeyBinding.command(for: key, in: self).map { obey($0) } ?? []
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
  package static let doubleClickTime = Duration.milliseconds(250)

  /// The part of the picture's width, from its left edge, in which a click goes back.
  package static let backPart = 1.0 / 3

  /// A click is the next slide, or in the left third the previous one; a double click is full screen and back.
  mutating func click(_ count: Int, at place: Double) -> [SlideshowEffect] {
    clickNumber += 1
    // Until it is known what the click means, no page turns by itself.
    turnNumber += 1
    switch count {
    case 1:
      clickCommand = place < Self.backPart ? .previous : .next
      return [.wait(.click(clickNumber), Self.doubleClickTime)]
    case 2: return obey(.fullScreen(!isFullScreen))
    default: return waitForTurn()
    }
  }

  /// The points that a swipe takes at least. What is shorter is a click of an unsteady hand.
  package static let swipeLength = 21.0

  /// A swipe to the left is the next slide, one to the right the previous one, as pages are turned.
  mutating func swipe(_ x: Double, _ y: Double) -> [SlideshowEffect] {
    guard abs(x) > Self.swipeLength, abs(x) > abs(y) else { return [] }
    // The click that it began with, if a front end told of one, is none.
    clickNumber += 1
    return obey(x < 0 ? .next : .previous)
  }
}
