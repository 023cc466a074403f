import MartletImages
package import SlideshowModel

/// The slideshow as lines of text, for output that is not a terminal: one line for each slide, and a summary.
package enum SlideList {
  /// The pictures are decoded only to check them.
  private static let thumbnail = PixelSize(width: 16, height: 16)

  /// Fetches everything and prints it as it arrives.
  package static func run(
    client: SlideshowClient, kept: KeptState, print: (String) -> Void
  ) async throws(SlideshowError) {
    let clock = ContinuousClock()
    let start = clock.now
    let slideshow = try await client.slideshow().slideshow
    print(DisplayText.harmless(kept.title ?? slideshow.title))
    var pictures = 0, bytes = 0
    for slide in slideshow.slides {
      let heart = kept.isFavorite(slide) ? "♥" : "♡"
      let outcome: String
      do {
        let image = try await client.picture(PictureRequest(slide: slide, mode: .fit, box: thumbnail))
        pictures += 1
        bytes += image.encodedBytes
        outcome = "\(image.info?.size ?? image.bitmap.size)  \(image.encodedBytes) bytes  \(image.source)"
      } catch {
        outcome = "missing: \(error.explanation)"
      }
      print(DisplayText.harmless("\(heart) \(slide.id)  \(slide.title)  \(outcome)"))
    }
    if slideshow.slides.isEmpty {
      print("no slides: check if the web service is running and has any: \(client.configuration.service)")
    }
    let time = start.duration(to: clock.now).milliseconds
    print(
      "\(slideshow.slides.count) slides, \(pictures) pictures, \(slideshow.slides.count - pictures) missing, "
        + "\(bytes) bytes, \(time) ms")
  }
}
