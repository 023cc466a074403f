/// The state that a front end draws: events change it, and return effects. It does no I/O, and does not depend on
/// terminals or windows.
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
    case failed(Explanation)
  }

  /// A panel that the user opens in place of the picture, or beside it.
  package enum Panel: Sendable, Hashable {
    /// The keys.
    case help
    /// What the picture is, where it came from, and what exactly went wrong.
    case details
  }

  /// The direction of the last change of slides.
  package enum Turn: Sendable, Hashable {
    case forward, backward
  }

  package internal(set) var tab = Tab.present
  package internal(set) var loading = Loading.loading
  package internal(set) var index = 0
  package internal(set) var turn = Turn.forward
  package internal(set) var picture = PictureState.none
  package internal(set) var isFullScreen = false
  package internal(set) var panel: Panel?
  package internal(set) var autoplay = Autoplay.off
  /// The title while it is being edited.
  package internal(set) var draft: String?
  package internal(set) var kept: KeptState
  /// What is wrong with the service, while the slides are shown as it served them last.
  package internal(set) var trouble: Explanation?
  /// The results of loading pictures, by slide.
  package internal(set) var outcomes: [SlideID: PictureOutcome] = [:]
  package internal(set) var thumbnails: [SlideID: Thumbnail] = [:]
  /// Where the slides come from, for people.
  package let service: String
  let pollInterval: Duration?
  /// How long each slide is shown by the auto-play.
  package let autoplayInterval: Duration

  var viewport: Viewport
  var served = Slideshow()
  var notices: [Explanation]
  /// Whether the service could not be reached by the last request.
  var isServiceGone = false
  var askedThumbnails: Set<PictureRequest> = []
  /// The number of the last request for slides: only its result counts.
  var slidesNumber = 0
  /// The number of the last click, and what it means if no second one follows.
  var clickNumber = 0
  var clickCommand = SlideshowCommand.next
  /// The number of the last interval of the auto-play.
  var turnNumber = 0
  var generation = 0

  /// Makes the state of a slideshow that is about to start.
  ///
  /// - Parameters:
  ///   - service: where the slides come from, for people.
  ///   - kept: what the user changed in earlier runs.
  ///   - viewport: the room for a picture.
  ///   - pollInterval: the time between two requests for slides; nil for no further request.
  ///   - autoplayInterval: how long each slide is shown by the auto-play.
  ///   - notices: what to tell at the beginning, one after another.
  package init(
    service: String, kept: KeptState = KeptState(), viewport: Viewport, pollInterval: Duration? = nil,
    autoplayInterval: Duration = .seconds(5), notices: [Explanation] = []
  ) {
    self.service = service
    self.kept = kept
    self.viewport = viewport
    self.pollInterval = pollInterval
    self.autoplayInterval = autoplayInterval
    self.notices = notices
  }

  package var slides: [Slide] { served.slides }
  /// The title: the user's, or else the service's.
  package var title: String { kept.title ?? served.title }
  package var currentSlide: Slide? { slides.indices.contains(index) ? slides[index] : nil }
  package func isFavorite(_ slide: Slide) -> Bool { kept.isFavorite(slide) }
  /// The notice beside the picture, until the next key.
  package var notice: Explanation? { notices.first }
  /// How many pictures were shown, and where they came from.
  package var counts: PictureCounts { PictureCounts(slides: slides.count, outcomes.values) }

  /// Changes the state; returns the effects.
  package mutating func handle(_ event: SlideshowEvent) -> [SlideshowEffect] {
    apply(event) + requestThumbnails()
  }

  private mutating func apply(_ event: SlideshowEvent) -> [SlideshowEffect] {
    switch event {
    case .started: return reload()
    case .key(let key): return press(key)
    case .command(let command): return obey(command)
    case .click(let count, let place): return click(count, at: place)
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
    case .thumbnail(let request, let bitmap):
      take(thumbnail: bitmap, for: request)
      return []
    case .waited(let wait): return handle(wait)
    case .warning(let explanation):
      notices.append(explanation)
      return []
    }
  }

  private mutating func handle(_ wait: Wait) -> [SlideshowEffect] {
    switch wait {
    case .poll(let number): number == slidesNumber ? loadSlides() : []
    case .click(let number): number == clickNumber ? obey(clickCommand) : []
    case .turn(let number): turnPage(number)
    }
  }
}
