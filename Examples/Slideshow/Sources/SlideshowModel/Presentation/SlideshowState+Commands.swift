// The user's commands.
extension SlideshowState {
  /// Executes a command. Any command closes the help and removes the displayed notice, except one that shows or closes
  /// a panel. Therefore the user can read the details of a notice.
  mutating func obey(_ command: SlideshowCommand) -> [SlideshowEffect] {
    if case .panel(let panel) = command {
      self.panel = panel
      return waitForTurn()
    }
    if panel == .help { panel = nil }
    if !notices.isEmpty { notices.removeFirst() }
    if command.turnsPages { autoplay = .off }
    return carryOut(command) + waitForTurn()
  }

  private mutating func carryOut(_ command: SlideshowCommand) -> [SlideshowEffect] {
    switch command {
    case .next: return move(by: 1)
    case .previous: return move(by: -1)
    case .show(let tab): return show(tab)
    case .select(let id): return select(id)
    case .open(let id): return select(id) + show(.present)
    case .toggleFavorite(let id): return toggleFavorite(id ?? currentSlide?.id)
    case .fullScreen(let isOn): return showFullScreen(isOn)
    case .autoplay(let isOn): return play(isOn)
    case .reload: return reload()
    case .beginTitle:
      draft = LineEditor(title)
      return show(.manage)
    case .keepTitle(let text): return keep(text)
    case .dropTitle: draft = nil
    case .dismissNotice, .panel: break
    case .quit: return [.quit]
    }
    return []
  }

  /// Shows a tab, and ends full screen.
  private mutating func show(_ other: Tab) -> [SlideshowEffect] {
    tab = other
    guard isFullScreen else { return [] }
    isFullScreen = false
    return requestPicture(keepingShown: true)
  }

  private mutating func showFullScreen(_ isOn: Bool) -> [SlideshowEffect] {
    guard isOn != isFullScreen else { return [] }
    tab = .present
    isFullScreen = isOn
    return requestPicture(keepingShown: true)
  }

  private mutating func select(_ id: SlideID) -> [SlideshowEffect] {
    guard id != currentSlide?.id, let place = slides.firstIndex(where: { $0.id == id }) else { return [] }
    return move(by: place - index)
  }

  private mutating func toggleFavorite(_ id: SlideID?) -> [SlideshowEffect] {
    guard let slide = slides.first(where: { $0.id == id }) else { return [] }
    kept.toggleFavorite(slide)
    return [.save(kept)]
  }

  private mutating func keep(_ text: String) -> [SlideshowEffect] {
    draft = nil
    let isServices = text.allSatisfy(\.isWhitespace) || text == served.title
    let title = isServices ? nil : text
    guard title != kept.title else { return [] }
    kept.title = title
    return [.save(kept)]
  }
}

extension SlideshowCommand {
  /// Whether the command shows another slide, or leaves the Present tab. Both stop the auto-play.
  fileprivate var turnsPages: Bool {
    switch self {
    case .next, .previous, .select, .open, .show(.manage), .beginTitle: true
    default: false
    }
  }
}
