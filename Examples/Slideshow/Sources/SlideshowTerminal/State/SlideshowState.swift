package import SlideshowModel

/// Everything the front end knows, and how it changes: what happens goes in, what is to be done comes out. No I/O.
package struct SlideshowState: Sendable {
  package enum Tab: Sendable, Hashable {
    /// The list of the slides.
    case manage
    /// One slide after another.
    case present
  }

  /// Whether the slides are there.
  package enum Loading: Sendable, Hashable {
    case loading, loaded
    case failed(String)
  }

  package internal(set) var tab = Tab.present
  package internal(set) var loading = Loading.loading
  package internal(set) var slides: [Slide] = []
  package internal(set) var index = 0
  package internal(set) var picture = PictureState.none
  package internal(set) var isFullScreen = false
  /// The title while it is being edited.
  package internal(set) var draft: String?
  package internal(set) var kept: KeptState
  /// What is to be told beside the picture, until the next key.
  package internal(set) var notice: String?
  /// How it went with the pictures that were asked for, by slide.
  package internal(set) var outcomes: [SlideID: String] = [:]
  package internal(set) var screen: ScreenSize
  var serverTitle = "Slideshow"
  /// The number of the last request for slides, and of the last for a picture: only their results count.
  var slidesRequest = 0
  var pictureRequest = 0

  package init(kept: KeptState = KeptState(), screen: ScreenSize, notice: String? = nil) {
    self.kept = kept
    self.screen = screen
    self.notice = notice
  }

  /// The title: the user's, or else the server's.
  package var title: String { kept.title ?? serverTitle }
  package var currentSlide: Slide? { slides.indices.contains(index) ? slides[index] : nil }
  package func isFavorite(_ slide: Slide) -> Bool { kept.isFavorite(slide) }

  /// Takes what happened; returns what is to be done about it.
  package mutating func handle(_ event: SlideshowEvent) -> [SlideshowEffect] {
    switch event {
    case .started: return reload()
    case .key(let key): return press(key)
    case .quit: return [.quit]
    case .resized(let size):
      guard size != screen else { return [] }
      screen = size
      return requestPicture(keepingShown: true)
    case .slides(let number, let result):
      return number == slidesRequest ? take(result) : []
    case .progress(let number, let completed, let total):
      if number == pictureRequest, case .loading = picture { picture = .loading(completed: completed, total: total) }
      return []
    case .picture(let number, let id, let result):
      take(result, for: id, isCurrent: number == pictureRequest)
      return []
    case .warning(let text):
      notice = text
      return []
    }
  }
}

extension SlideshowState {
  mutating func reload() -> [SlideshowEffect] {
    slidesRequest += 1
    loading = .loading
    return [.loadSlides(slidesRequest)]
  }

  /// The new slides take the place of the old ones; the slide that was shown is shown again, if it is still there.
  private mutating func take(_ result: Result<Slideshow, SlideshowError>) -> [SlideshowEffect] {
    switch result {
    case .success(let slideshow):
      let shown = currentSlide?.id
      slides = slideshow.slides
      serverTitle = slideshow.title
      loading = .loaded
      outcomes = [:]
      index = slides.firstIndex { $0.id == shown } ?? max(0, min(index, slides.count - 1))
      return requestPicture()
    case .failure(let error):
      loading = .failed("\(error)")
      if !slides.isEmpty { notice = "\(error)" }
      return []
    }
  }

  /// Moves by so many slides, around both ends.
  mutating func move(by step: Int) -> [SlideshowEffect] {
    guard !slides.isEmpty else { return [] }
    let next = (index + step) % slides.count
    index = next < 0 ? next + slides.count : next
    return requestPicture()
  }

  /// Asks for the picture of the current slide; whatever is still on its way for another one no longer counts.
  mutating func requestPicture(keepingShown: Bool = false) -> [SlideshowEffect] {
    pictureRequest += 1
    guard let slide = currentSlide else {
      picture = .none
      return []
    }
    if !keepingShown { picture = .loading(completed: 0, total: nil) }
    let mode = isFullScreen ? Picture.Mode.fill : .fit
    return [.loadPicture(pictureRequest, slide, mode, screen.pictureBox(isFullScreen: isFullScreen))]
  }

  private mutating func take(_ result: Result<ShownPicture, PictureError>, for id: SlideID, isCurrent: Bool) {
    switch result {
    case .success(let shown):
      outcomes[id] = "\(shown.size), \(shown.bytes) bytes, \(shown.source)"
      if isCurrent { picture = .shown(shown) }
    case .failure(.cancelled): break
    case .failure(let error):
      outcomes[id] = "\(error)"
      if isCurrent { picture = .missing("\(error)") }
    }
  }
}
