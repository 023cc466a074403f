package import MartletImages

extension ImageCache {
  /// The cache of the slideshow: the ten pictures that were used last, at most 64 MiB.
  package static let slideshow = ImageCache(byteLimit: 64 << 20, countLimit: 10)
}
