import MartletImages

// Which picture is to be seen, and which ones may be next.
extension SlideshowState {
  /// The picture that is to be seen. Only the answer to this request is shown.
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

  /// Moves by so many slides, around both ends.
  mutating func move(by step: Int) -> [SlideshowEffect] {
    guard !slides.isEmpty else { return [] }
    turn = step < 0 ? .backward : .forward
    let next = (index + step) % slides.count
    index = next < 0 ? next + slides.count : next
    return requestPicture()
  }

  /// Asks for the picture of the current slide.
  ///
  /// - Parameter keepingShown: whether what is to be seen may stay until then, because it is the same picture.
  mutating func requestPicture(keepingShown: Bool = false) -> [SlideshowEffect] {
    guard let wanted else {
      picture = .none
      return []
    }
    if !keepingShown || picture == .none { picture = .loading(completed: 0, total: nil) }
    return [.loadPicture(wanted)]
  }

  /// Takes a picture, or that there is none. What is not wanted any more is of no use.
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
    // Only now, so that they do not compete with the one that is looked at.
    return [.prefetch(window)] + waitForTurn()
  }

  /// Of a picture that comes again, in another size for example, it stays known where it came from first.
  private mutating func note(_ facts: PictureFacts, of id: SlideID) {
    if case .shown(let earlier) = outcomes[id], earlier.generation == facts.generation { return }
    outcomes[id] = .shown(facts)
  }
}
