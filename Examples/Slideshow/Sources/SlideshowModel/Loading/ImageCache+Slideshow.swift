package import MartletImages

extension ImageCache {
  /// The one of the slideshow: the ten pictures that were used last, 64 MiB at most.
  package static let slideshow = ImageCache(byteLimit: 64 << 20, countLimit: 10)
}
