// Automatic changes of slides.
extension SlideshowState {
  package enum Autoplay: Sendable, Hashable {
    case off
    /// The next slide follows once the picture, or the reason for a missing one, was shown for the interval.
    case playing
    /// Paused while the service cannot be reached.
    case waitingForService
  }

  /// Starts, even while the service cannot be reached, or stops.
  mutating func play(_ isOn: Bool) -> [SlideshowEffect] {
    autoplay = isOn ? .playing : .off
    if isOn { tab = .present }
    return []
  }

  /// Restarts the interval. There is none while a picture is loading, or while help or details are shown.
  mutating func waitForTurn() -> [SlideshowEffect] {
    turnNumber += 1
    guard autoplay == .playing, tab == .present, panel == nil, slides.count > 1 else { return [] }
    switch picture {
    case .shown, .missing: return [.wait(.turn(turnNumber), autoplayInterval)]
    case .none, .loading: return []
    }
  }

  /// Shows the next slide if the interval of that number is the latest.
  mutating func turnPage(_ number: Int) -> [SlideshowEffect] {
    number == turnNumber && autoplay == .playing ? move(by: 1) : []
  }

  /// Pauses while there are slides and the service cannot be reached.
  mutating func noteService(isGone: Bool, wasGone: Bool) -> [SlideshowEffect] {
    if isGone, !wasGone, autoplay == .playing {
      autoplay = .waitingForService
      return waitForTurn()
    }
    if !isGone, autoplay == .waitingForService {
      autoplay = .playing
      return waitForTurn()
    }
    return []
  }
}
