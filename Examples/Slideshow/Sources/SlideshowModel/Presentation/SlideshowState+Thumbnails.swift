package import MartletImages

// The thumbnails of the list. They are fetched while the list is shown, starting around the current slide.
extension SlideshowState {
  /// The result of a request for a thumbnail.
  package struct Thumbnail: Sendable, Hashable {
    package var request: PictureRequest
    /// Nil if there is none.
    package var bitmap: Bitmap?
  }

  /// The number of slides before and after the current one that have thumbnails, so that a long list costs little.
  static let thumbnailReach = 60

  private var thumbnailRequests: [PictureRequest] {
    guard tab == .manage, let box = viewport.thumbnail else { return [] }
    let near = max(0, index - Self.thumbnailReach)..<min(slides.count, index + Self.thumbnailReach + 1)
    return near.sorted { abs($0 - index) < abs($1 - index) }.map {
      PictureRequest(slide: slides[$0], mode: .fit, box: box, generation: generation)
    }
  }

  /// Requests the missing thumbnails; none while the list is not shown.
  mutating func requestThumbnails() -> [SlideshowEffect] {
    let lacking = thumbnailRequests.filter { thumbnails[$0.slide.id]?.request != $0 }
    guard lacking.isEmpty ? !askedThumbnails.isEmpty : !askedThumbnails.isSuperset(of: lacking) else { return [] }
    askedThumbnails = Set(lacking)
    return [.loadThumbnails(lacking)]
  }

  mutating func take(thumbnail bitmap: Bitmap?, for request: PictureRequest) {
    guard askedThumbnails.contains(request) else { return }
    thumbnails[request.slide.id] = Thumbnail(request: request, bitmap: bitmap)
    guard thumbnails.count > 4 * Self.thumbnailReach else { return }
    let near = Set(thumbnailRequests.map(\.slide.id))
    thumbnails = thumbnails.filter { near.contains($0.key) }
  }
}
