// The meaning of keys, clicks and swipes.
extension SlideshowState {
  mutating func press(_ key: Key) -> [SlideshowEffect] {
    if key == .interrupt { return [.quit] }
    if let draft { return edit(draft, key) }
    return KeyBinding.command(for: key, in: self).map { obey($0) } ?? []
  }

  /// While the title is edited, enter keeps the draft and escape drops it.
  private mutating func edit(_ line: LineEditor, _ key: Key) -> [SlideshowEffect] {
    switch key {
    case .escape: return obey(.dropTitle)
    case .enter: return obey(.keepTitle(line.text))
    default:
      draft?.press(key)
      return []
    }
  }

  /// The time for which a click waits for a second one.
  package static let doubleClickTime = Duration.milliseconds(250)

  /// The part of the picture's width, from its left edge, in which a click goes back.
  package static let backPart = 1.0 / 3

  /// A click shows the next slide, or in the left third the previous one. A double click starts or ends full screen.
  mutating func click(_ count: Int, at place: Double) -> [SlideshowEffect] {
    clickNumber += 1
    // Until the meaning of the click is known, no page turns by itself.
    turnNumber += 1
    switch count {
    case 1:
      clickCommand = place < Self.backPart ? .previous : .next
      return [.wait(.click(clickNumber), Self.doubleClickTime)]
    case 2: return obey(.fullScreen(!isFullScreen))
    default: return waitForTurn()
    }
  }

  /// The minimum length of a swipe in points. A shorter one is a click of an unsteady hand.
  package static let swipeLength = 21.0

  /// A swipe to the left shows the next slide, one to the right the previous one, like turning pages.
  mutating func swipe(_ x: Double, _ y: Double) -> [SlideshowEffect] {
    guard abs(x) > Self.swipeLength, abs(x) > abs(y) else { return [] }
    // If the front end reported a click at the beginning of the swipe, it does not count.
    clickNumber += 1
    return obey(x < 0 ? .next : .previous)
  }
}
