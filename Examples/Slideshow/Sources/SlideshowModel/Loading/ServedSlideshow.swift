package import MartletEngine

/// A slideshow, and whether it is current.
package struct ServedSlideshow: Sendable, Hashable {
  package var slideshow: Slideshow
  /// Where it came from; `offline` if it is the last known one, because the service could not be reached.
  package var source: HTTPResponse.Source

  package init(_ slideshow: Slideshow, from source: HTTPResponse.Source = .network) {
    self.slideshow = slideshow
    self.source = source
  }
}
