import MartletEngine
public import MartletSemantics
import Synchronization

/// Caches decoded images in memory, within limits; the least recently used are removed first. Safe to use from any
/// thread.
///
/// ```swift
/// let cache = ImageCache.shared
/// cache[key] = image       // nil removes
/// cache[key]?.bitmap       // reading counts as use
/// ```
///
/// The cost of an image is the bytes of its pixels, width * height * 4; that of an animation is the bytes of all
/// frames. Encoded files are not cached here but in the session's HTTP cache, which applies their freshness. An image
/// in this cache does not expire: it is used until it is removed.
public final class ImageCache: Sendable {
  /// The application's cache, which ``ImageLoader/shared`` uses.
  public static let shared = ImageCache()

  private let images: Mutex<LRUStorage<ImageKey, LoadedImage>>

  /// Makes an empty cache.
  ///
  /// - Parameters:
  ///   - byteLimit: the maximum number of bytes of pixels, 128 MiB by default. A single image that exceeds it is not
  ///     stored.
  ///   - countLimit: the maximum number of images; nil, the default, means no limit.
  public init(byteLimit: Int = 128 << 20, countLimit: Int? = nil) {
    images = Mutex(LRUStorage(costLimit: byteLimit, countLimit: countLimit ?? .max))
  }

  /// The image of a key. Setting nil removes it.
  public subscript(key: ImageKey) -> LoadedImage? {
    get { images.withLock { $0.use(key) } }
    set {
      images.withLock { images in
        if let newValue {
          images.set(newValue, cost: newValue.pixelBytes, for: key)
        } else {
          images.remove(key)
        }
      }
    }
  }

  /// The full-size image of a URL: that of ``ImageKey/init(_:partition:)``.
  public subscript(url: URL) -> LoadedImage? {
    get { self[ImageKey(url)] }
    set { self[ImageKey(url)] = newValue }
  }

  /// The number of images.
  public var count: Int { images.withLock { $0.count } }

  /// The bytes of all images' pixels.
  public var byteCount: Int { images.withLock { $0.cost } }

  /// Removes the least recently used images until the rest has at most `byteCount` bytes of pixels.
  public func trim(to byteCount: Int) { images.withLock { _ = $0.trim(toCost: byteCount) } }

  /// Removes all images.
  public func removeAll() { trim(to: -1) }

  /// Removes all images of a partition, for example when its user signs out.
  public func removePartition(_ partition: String) {
    images.withLock { _ = $0.removeAll { $0.key.partition == partition } }
  }
}
