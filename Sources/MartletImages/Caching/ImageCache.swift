public import MartletSemantics
import Synchronization

/// Keeps decoded pictures in memory, within bounds; what was used longest ago makes room. From any thread.
///
/// ```swift
/// let cache = ImageCache.shared
/// cache[key] = image       // nil removes
/// cache[key]?.bitmap       // reading counts as use
/// ```
///
/// A picture costs the bytes of its pixels, width * height * 4, of an animation those of all frames. Files are not kept here: those are in the session's cache,
/// which knows how long they may be used. What is here is used until it makes room or is removed.
public final class ImageCache: Sendable {
  /// The one of the application, which ``ImageLoader/shared`` uses.
  public static let shared = ImageCache()

  private let pictures: Mutex<RecentlyUsed<ImageKey, LoadedImage>>

  /// Makes an empty cache.
  ///
  /// - Parameters:
  ///   - byteLimit: the most bytes of pixels, 128 MiB by default. A picture that is larger alone is not kept.
  ///   - countLimit: the most pictures; any number by default.
  public init(byteLimit: Int = 128 << 20, countLimit: Int = .max) {
    pictures = Mutex(RecentlyUsed(costLimit: byteLimit, countLimit: countLimit))
  }

  /// The picture of a key. Setting nil removes it.
  public subscript(key: ImageKey) -> LoadedImage? {
    get { pictures.withLock { $0.use(key) } }
    set {
      pictures.withLock { pictures in
        guard let newValue else { return pictures.remove(key) }
        pictures.set(newValue, cost: newValue.pixelBytes, for: key)
      }
    }
  }

  /// The picture of a URL in full size: that of ``ImageKey/init(_:partition:)``.
  public subscript(url: URL) -> LoadedImage? {
    get { self[ImageKey(url)] }
    set { self[ImageKey(url)] = newValue }
  }

  /// How many pictures there are.
  public var count: Int { pictures.withLock { $0.count } }

  /// The bytes of their pixels.
  public var byteCount: Int { pictures.withLock { $0.cost } }

  /// Removes what was used longest ago, until the rest has no more than so many bytes of pixels.
  public func trim(to byteCount: Int) { pictures.withLock { $0.trim(toCost: byteCount) } }

  /// Removes everything.
  public func removeAll() { trim(to: -1) }

  /// Removes all pictures of a partition: of a user who signed out.
  public func removePartition(_ partition: String) {
    pictures.withLock { $0.removeAll { $0.partition == partition } }
  }
}
