package import MartletImages

/// A picture as it is wanted. A front end shows the answer to the request that it has just now and no other: an older
/// one cannot be mistaken for it, whenever it comes.
package struct PictureRequest: Sendable, Hashable {
  package var slide: Slide
  package var mode: ImageRequest.ContentMode
  /// The room for the picture, in pixels.
  package var box: PixelSize
  /// How many times everything was loaded anew before.
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
  /// Beside the title and everything else.
  package var fit: PixelSize
  /// In full screen.
  package var fill: PixelSize
  /// For a small picture in the list; nil where there is no room for one.
  package var thumbnail: PixelSize?

  package init(fit: PixelSize, fill: PixelSize, thumbnail: PixelSize? = nil) {
    self.fit = fit
    self.fill = fill
    self.thumbnail = thumbnail
  }
}
