// Which picture is to be seen, and which ones may be next.
extension SlideshowState {
  /// The picture that is to be seen. Only the answer to this request is shown.
  var wanted: PictureRequest? { currentSlide.map(request) }

  /// The pictures one step away, the next one first.
  var neighbours: [PictureRequest] {
    guard slides.count > 1 else { return [] }
    let next = slides[(index + 1) % slides.count]
    let previous = slides[(index + slides.count - 1) % slides.count]
    return (next == previous ? [next] : [next, previous]).map(request)
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

  /// Shows the picture of the current slide if it is ready, and asks for it if it is not.
  ///
  /// - Parameter keepingShown: whether what is to be seen may stay until then, because it is the same picture.
  mutating func requestPicture(keepingShown: Bool = false) -> [SlideshowEffect] {
    let window = Set([wanted].compactMap { $0 } + neighbours)
    ready = ready.filter { window.contains($0.key) }
    guard let wanted else {
      picture = .none
      return []
    }
    guard var known = ready[wanted] else {
      if !keepingShown || picture == .none { picture = .loading(completed: 0, total: nil) }
      return [.loadPicture(wanted)]
    }
    if case .shown(var shown) = known {
      shown.source = .memory
      shown.milliseconds = 0
      statistics.count(shown)
      known = .shown(shown)
    }
    picture = known
    return prepareNeighbours()
  }

  /// Takes a picture, or that there is none. What is neither to be seen nor next to it is of no use any more.
  mutating func take(_ result: Result<ShownPicture, PictureError>, for request: PictureRequest) -> [SlideshowEffect] {
    let isWanted = request == wanted
    guard ready[request] == nil else { return [] }
    switch result {
    case .success(let shown):
      statistics.count(shown)
      outcomes[request.slide.id] = shown.outcome
      if isWanted || neighbours.contains(request) { ready[request] = .shown(shown) }
      if isWanted { picture = .shown(shown) }
    case .failure(.cancelled): return []
    case .failure(let error):
      statistics.missing += 1
      outcomes[request.slide.id] = "\(error)"
      if isWanted || neighbours.contains(request) { ready[request] = .missing("\(error)") }
      if isWanted { picture = .missing("\(error)") }
    }
    return isWanted ? prepareNeighbours() : []
  }

  private func prepareNeighbours() -> [SlideshowEffect] {
    [.prepare(neighbours.filter { ready[$0] == nil })]
  }
}
