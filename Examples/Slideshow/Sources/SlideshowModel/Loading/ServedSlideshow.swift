package import MartletEngine

/// A slideshow, and whether it is what the service says now.
package struct ServedSlideshow: Sendable, Hashable {
  package var slideshow: Slideshow
  /// Where it came from; `offline` if it is what the service said last, before it went.
  package var source: ResponseSource

  package init(_ slideshow: Slideshow, from source: ResponseSource = .network) {
    self.slideshow = slideshow
    self.source = source
  }
}
