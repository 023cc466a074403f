import SlideshowModel

// What the keys do.
extension SlideshowState {
  mutating func press(_ key: Key) -> [SlideshowEffect] {
    if key == .interrupt { return [.quit] }
    if let draft { return edit(draft, key) }
    notice = nil
    switch key {
    case .tab: return show(tab == .manage ? .present : .manage)
    case .right, .down: return move(by: 1)
    case .left, .up: return move(by: -1)
    case .enter: return toggleFullScreen()
    case .escape: return isFullScreen ? toggleFullScreen() : []
    case .character(let character): return press(character)
    case .backspace, .interrupt: return []
    }
  }

  private mutating func press(_ character: Character) -> [SlideshowEffect] {
    switch character {
    case "1": return show(.manage)
    case "2": return show(.present)
    case " ", "n": return move(by: 1)
    case "p": return move(by: -1)
    case "z": return toggleFullScreen()
    case "f": return toggleFavorite()
    case "r": return [.forgetFailures] + reload()
    case "t":
      draft = title
      return isFullScreen ? toggleFullScreen() : []
    case "q": return [.quit]
    default: return []
    }
  }

  private mutating func show(_ other: Tab) -> [SlideshowEffect] {
    tab = other
    guard isFullScreen else { return [] }
    isFullScreen = false
    return requestPicture(keepingShown: true)
  }

  /// Full screen belongs to the Present tab: from the list it leads there.
  private mutating func toggleFullScreen() -> [SlideshowEffect] {
    tab = .present
    isFullScreen.toggle()
    return requestPicture(keepingShown: true)
  }

  private mutating func toggleFavorite() -> [SlideshowEffect] {
    guard let currentSlide else { return [] }
    kept.toggleFavorite(currentSlide)
    return [.save(kept)]
  }

  /// Enter keeps the draft, escape drops it. An empty title gives the server's back.
  private mutating func edit(_ text: String, _ key: Key) -> [SlideshowEffect] {
    switch key {
    case .character(let character): draft = text + String(character)
    case .backspace: draft = String(text.dropLast())
    case .escape: draft = nil
    case .enter:
      draft = nil
      let isServers = text.allSatisfy(\.isWhitespace) || text == serverTitle
      kept.title = isServers ? nil : text
      return [.save(kept)]
    default: break
    }
    return []
  }
}
