import MartletImages
package import SlideshowModel

/// The slideshow as lines of text, for output that is no terminal: a line for each slide, and one that sums up.
package enum SlideList {
  /// Fetches everything and prints it as it comes.
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
        let arrival = try await client.picture(for: slide)
        let picture = arrival.picture
        pictures += 1
        bytes += picture.data.count
        outcome = "\(picture.size)  \(picture.data.count) bytes  \(arrival.source)"
      } catch {
        outcome = "missing: \(error)"
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
