/// Everything a front end knows, and how it changes: what happens goes in, what is to be done comes out. No I/O, nothing
/// of terminals or windows.
package struct SlideshowState: Sendable {
  package enum Tab: Int, Sendable, Hashable, CaseIterable {
    /// The list of the slides.
    case manage = 1
    /// One slide after another.
    case present = 2
  }

  /// Whether the slides are there.
  package enum Loading: Sendable, Hashable {
    case loading, loaded
    case failed(String)
  }

  /// To which side the pages were turned last.
  package enum Turn: Sendable, Hashable {
    case forward, backward
  }

  package internal(set) var tab = Tab.present
  package internal(set) var loading = Loading.loading
  package internal(set) var index = 0
  package internal(set) var turn = Turn.forward
  package internal(set) var picture = PictureState.none
  package internal(set) var isFullScreen = false
  /// The title while it is being edited.
  package internal(set) var draft: String?
  package internal(set) var kept: KeptState
  /// What is wrong with the service, while the slides are shown as it served them last.
  package internal(set) var trouble: String?
  /// How it went with the pictures that were asked for, by slide.
  package internal(set) var outcomes: [SlideID: String] = [:]
  package internal(set) var statistics = LoadStatistics()
  /// Where the slides come from, for people.
  package let service: String
  let pollInterval: Duration?

  var viewport: Viewport
  var served = Slideshow()
  var notices: [String]
  /// The number of the last request for slides: only its result counts.
  var slidesNumber = 0
  /// The number of the last click.
  var clickNumber = 0
  var generation = 0

  /// Makes the state of a slideshow that is about to start.
  ///
  /// - Parameters:
  ///   - service: where the slides come from, for people.
  ///   - kept: what the user changed in earlier runs.
  ///   - viewport: the room for a picture.
  ///   - pollInterval: after which time the service is asked again whether something changed; nil for never.
  ///   - notices: what to tell at the beginning, one after another.
  package init(
    service: String, kept: KeptState = KeptState(), viewport: Viewport, pollInterval: Duration? = nil,
    notices: [String] = []
  ) {
    self.service = service
    self.kept = kept
    self.viewport = viewport
    self.pollInterval = pollInterval
    self.notices = notices
  }

  package var slides: [Slide] { served.slides }
  /// The title: the user's, or else the service's.
  package var title: String { kept.title ?? served.title }
  package var currentSlide: Slide? { slides.indices.contains(index) ? slides[index] : nil }
  package func isFavorite(_ slide: Slide) -> Bool { kept.isFavorite(slide) }
  /// What is to be told beside the picture, until the next key.
  package var notice: String? { notices.first }

  /// Takes what happened; returns what is to be done about it.
  package mutating func handle(_ event: SlideshowEvent) -> [SlideshowEffect] {
    switch event {
    case .started: return reload()
    case .key(let key): return press(key)
    case .command(let command): return obey(command)
    case .click(let count): return click(count)
    case .swipe(let x, let y): return swipe(x, y)
    case .resized(let room):
      guard room != viewport else { return [] }
      viewport = room
      return requestPicture(keepingShown: true)
    case .slides(let number, let result): return number == slidesNumber ? take(result) : []
    case .progress(let request, let completed, let total):
      if request == wanted, case .loading = picture { picture = .loading(completed: completed, total: total) }
      return []
    case .picture(let request, let result): return take(result, for: request)
    case .counted(let statistics):
      self.statistics = statistics
      return []
    case .waited(let wait): return handle(wait)
    case .warning(let text):
      notices.append(text)
      return []
    }
  }

  private mutating func handle(_ wait: Wait) -> [SlideshowEffect] {
    switch wait {
    case .poll(let number): number == slidesNumber ? loadSlides() : []
    case .click(let number): number == clickNumber ? move(by: 1) : []
    }
  }
}
