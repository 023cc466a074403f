import MartletImages

// The current picture, and the pictures that are probably next.
extension SlideshowState {
  /// The request for the current picture. Only the result of this request is shown.
  package var wanted: PictureRequest? { currentSlide.map(request) }

  /// The pictures that may be next: two steps ahead and one back, in this order.
  var window: [PictureRequest] {
    var places: [Int] = []
    for step in [1, 2, -1] {
      let place = (index + step + 2 * slides.count) % max(1, slides.count)
      if place != index, !places.contains(place) { places.append(place) }
    }
    return places.map { request(for: slides[$0]) }
  }

  private func request(for slide: Slide) -> PictureRequest {
    PictureRequest(
      slide: slide, mode: isFullScreen ? .fill : .fit, box: isFullScreen ? viewport.fill : viewport.fit,
      generation: generation)
  }

  /// Moves by this number of slides, around both ends.
  mutating func move(by step: Int) -> [SlideshowEffect] {
    guard !slides.isEmpty else { return [] }
    turn = step < 0 ? .backward : .forward
    let next = (index + step) % slides.count
    index = next < 0 ? next + slides.count : next
    return requestPicture()
  }

  /// Requests the picture of the current slide.
  ///
  /// - Parameter keepingShown: whether the displayed picture stays until then, because it is the same one.
  mutating func requestPicture(keepingShown: Bool = false) -> [SlideshowEffect] {
    guard let wanted else {
      picture = .none
      return []
    }
    if !keepingShown || picture == .none { picture = .loading(completed: 0, total: nil) }
    return [.loadPicture(wanted)]
  }

  /// Handles the result of a request for a picture. The result of an outdated request is ignored.
  mutating func take(_ result: Result<ShownPicture, PictureError>, for request: PictureRequest) -> [SlideshowEffect] {
    guard request == wanted else { return [] }
    switch result {
    case .success(let shown):
      note(shown.facts, of: request.slide.id)
      picture = .shown(shown)
    case .failure(let error):
      guard !error.isCancelled else { return [] }
      outcomes[request.slide.id] = .missing(error.explanation)
      picture = .missing(error.explanation)
    }
    // Prefetches begin only now, so that they do not delay the current one.
    return [.prefetch(window)] + waitForTurn()
  }

  /// A picture that is loaded again, for example in another size, keeps the source of its first load.
  private mutating func note(_ facts: PictureFacts, of id: SlideID) {
    if case .shown(let earlier) = outcomes[id], earlier.generation == facts.generation { return }
    outcomes[id] = .shown(facts)
  }
}
