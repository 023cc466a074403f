import MartletEngine

// Loading and reloading the slides.
extension SlideshowState {
  /// Loads everything for the first time, or again at the user's request.
  mutating func reload() -> [SlideshowEffect] {
    loading = .loading
    return loadSlides()
  }

  mutating func loadSlides() -> [SlideshowEffect] {
    slidesNumber += 1
    return [.loadSlides(slidesNumber)]
  }

  /// Handles the result of a request for slides. In either case, the next request follows later.
  mutating func take(_ result: Result<ServedSlideshow, SlideshowError>) -> [SlideshowEffect] {
    let isAsked = loading == .loading
    let (hadSlides, wasGone) = (!slides.isEmpty, isServiceGone)
    var effects: [SlideshowEffect] = []
    switch result {
    case .success(let answer):
      isServiceGone = answer.source == .offline
      effects = take(answer, isAsked: isAsked)
    case .failure(.cancelled): break
    case .failure(let error):
      isServiceGone = error.meansServiceIsDown
      loading = slides.isEmpty ? .failed(error.explanation) : .loaded
      trouble = slides.isEmpty ? nil : Explanation(Self.keptSlides(error.explanation), details: "\(error)")
    }
    if hadSlides { effects += noteService(isGone: isServiceGone, wasGone: wasGone) }
    return effects + (pollInterval.map { [.wait(.poll(slidesNumber), $0)] } ?? [])
  }

  private static func keptSlides(_ explanation: Explanation) -> String {
    explanation.sentence + " These are the slides of last time."
  }

  /// Does nothing if nothing has changed, unless the user requested a reload. When the service can be reached again,
  /// pictures that failed in the meantime are loaded again.
  private mutating func take(_ answer: ServedSlideshow, isAsked: Bool) -> [SlideshowEffect] {
    let wasInTrouble = trouble != nil
    let isOffline = answer.source == .offline
    trouble =
      isOffline
      ? Explanation(
        "The web service does not answer. These are the slides of last time.",
        details: "offline: nobody answers at \(service); title, slides and pictures come from the cache") : nil
    let isNew = answer.slideshow != served || loading != .loaded
    loading = .loaded
    return isNew || isAsked || (wasInTrouble && !isOffline) ? renew(answer.slideshow) : []
  }

  /// The new slides replace the old ones, so there are no duplicates. If the displayed slide still exists, it is shown
  /// again; slides are identified by the service's id.
  private mutating func renew(_ slideshow: Slideshow) -> [SlideshowEffect] {
    let shown = currentSlide
    let isFirst = slides.isEmpty && generation == 0
    served = slideshow
    index = slides.firstIndex { $0.id == shown?.id } ?? max(0, min(index, slides.count - 1))
    let ids = Set(slides.map(\.id))
    outcomes = outcomes.filter { ids.contains($0.key) }
    thumbnails = thumbnails.filter { ids.contains($0.key) }
    // The first time, no picture was requested before.
    guard !isFirst else { return requestPicture() }
    generation += 1
    let isSamePicture = shown.map { $0.id == currentSlide?.id && $0.imageFileName == currentSlide?.imageFileName }
    return [.forgetPictures] + requestPicture(keepingShown: isSamePicture == true)
  }
}
