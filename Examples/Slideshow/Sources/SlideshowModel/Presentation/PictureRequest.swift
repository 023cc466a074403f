package import MartletImages

/// A request for a picture. A front end shows only the result of its current request, so that an older result, which
/// may arrive later, never replaces a newer one.
package struct PictureRequest: Sendable, Hashable {
  package var slide: Slide
  package var mode: ImageRequest.ContentMode
  /// The room for the picture, in pixels.
  package var box: PixelSize
  /// The number of reloads before this request.
  package var generation: Int

  package init(slide: Slide, mode: ImageRequest.ContentMode, box: PixelSize, generation: Int = 0) {
    self.slide = slide
    self.mode = mode
    self.box = box
    self.generation = generation
  }
}

/// The room that a front end has for a picture, in pixels.
package struct Viewport: Sendable, Hashable {
  /// With the title and everything else around it.
  package var fit: PixelSize
  /// In full screen.
  package var fill: PixelSize
  /// For a small picture in the list; nil if there is no room for one.
  package var thumbnail: PixelSize?

  package init(fit: PixelSize, fill: PixelSize, thumbnail: PixelSize? = nil) {
    self.fit = fit
    self.fill = fill
    self.thumbnail = thumbnail
  }
}
