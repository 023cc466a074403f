/// The state that a front end draws: events change it, and return effects. It does no I/O, and does not depend on
/// terminals or windows.
package struct SlideshowState: Sendable {
  package enum Tab: Int, Sendable, Hashable, CaseIterable {
    /// The list of the slides.
    case manage = 1
    /// One slide after another.
    case present = 2
  }

  /// Whether the slides are available.
  package enum Loading: Sendable, Hashable {
    case loading, loaded
    case failed(Explanation)
  }

  /// A panel that the user opens in place of the picture or beside it.
  package enum Panel: Sendable, Hashable {
    /// The keys.
    case help
    /// The properties of the picture, its source, and the exact errors.
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
  package internal(set) var draft: LineEditor?
  package internal(set) var kept: KeptState
  /// The problem of the service, while its last slides are shown.
  package internal(set) var trouble: Explanation?
  /// The results of loading pictures, by slide.
  package internal(set) var outcomes: [SlideID: PictureOutcome] = [:]
  package internal(set) var thumbnails: [SlideID: Thumbnail] = [:]
  /// The source of the slides, in words for people.
  package let service: String
  let pollInterval: Duration?
  /// The time for which the auto-play shows each slide.
  package let autoplayInterval: Duration

  var viewport: Viewport
  var served = Slideshow()
  var notices: [Explanation]
  /// Whether the last request could not reach the service.
  var isServiceGone = false
  var askedThumbnails: Set<PictureRequest> = []
  /// The number of the last request for slides: only its result counts.
  var slidesNumber = 0
  /// The number of the last click, and its meaning if no second one follows.
  var clickNumber = 0
  var clickCommand = SlideshowCommand.next
  /// The number of the last interval of the auto-play.
  var turnNumber = 0
  var generation = 0

  /// Makes the state of a slideshow that is about to start.
  ///
  /// - Parameters:
  ///   - service: the source of the slides, in words for people.
  ///   - kept: the user's changes in earlier runs.
  ///   - viewport: the room for a picture.
  ///   - pollInterval: the time between two requests for slides; nil for no further request.
  ///   - autoplayInterval: the time for which the auto-play shows each slide.
  ///   - notices: the messages at the beginning, one after another.
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
  /// The title: the user's, otherwise the service's.
  package var title: String { kept.title ?? served.title }
  package var currentSlide: Slide? { slides.indices.contains(index) ? slides[index] : nil }
  package func isFavorite(_ slide: Slide) -> Bool { kept.isFavorite(slide) }
  /// The notice beside the picture, until the next key.
  package var notice: Explanation? { notices.first }
  /// The number of pictures that were shown, and their sources.
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
