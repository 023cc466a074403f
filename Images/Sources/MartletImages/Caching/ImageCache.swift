@_spi(Toolkit) import MartletEngine
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
/// frames. Encoded files are not cached here but in the session's HTTP cache.
///
/// An ``ImageLoader`` uses an image that it has stored here while its response is fresh, and at least for
/// ``ImageLoader/Configuration/memoryAge``. If a later load brings other bytes, the images of the earlier file are
/// removed in all sizes. An image that you set is used until it is removed.
public final class ImageCache: Sendable {
  /// The application's cache, which ``ImageLoader/shared`` uses.
  public static let shared = ImageCache()

  /// How long a loader uses an image, and the file that it was made from.
  struct Validity: Sendable {
    /// A number that differs for another file.
    let file: Int
    let since: Stopwatch
    let lifetime: Duration

    var isOver: Bool { since.elapsed >= lifetime }
  }

  private struct Entry: Sendable {
    let key: ImageKey
    let image: LoadedImage
    /// nil for an image that no loader has stored.
    let validity: Validity?
  }

  private struct Contents {
    private(set) var images: LRUStorage<ImageKey, Entry>
    /// The latest file of each request.
    private var files = LRUStorage<RequestIdentity, Int>(countLimit: 4096)
    /// The images of each request: another file of one must not take a look at all images.
    private var keys: [RequestIdentity: Set<ImageKey>] = [:]

    init(byteLimit: Int, countLimit: Int) { images = LRUStorage(costLimit: byteLimit, countLimit: countLimit) }

    mutating func set(_ image: LoadedImage, _ validity: Validity?, for key: ImageKey) {
      if let file = validity?.file {
        let earlier = files.value(for: key.request)
        files.set(file, for: key.request)
        // Otherwise two sizes of one picture could be two pictures.
        if let earlier, earlier != file {
          for other in keys[key.request] ?? [] where images.value(for: other)?.validity?.file == earlier {
            remove(other)
          }
        }
      }
      keys[key.request, default: []].insert(key)
      unlist(images.set(Entry(key: key, image: image, validity: validity), cost: image.pixelBytes, for: key))
    }

    mutating func use(_ key: ImageKey) -> Entry? { images.use(key) }

    mutating func remove(_ key: ImageKey) { unlist(images.remove(key).map { [$0] } ?? []) }

    mutating func trim(to byteCount: Int) { unlist(images.trim(toCost: byteCount)) }

    mutating func removePartition(_ partition: String) {
      unlist(images.removeAll { $0.key.partition == partition })
      files.removeAll { $0.key.key.partition == partition }
    }

    /// Removes the keys of images that are no longer stored.
    private mutating func unlist(_ removed: [Entry]) {
      for key in removed.map(\.key) where images.value(for: key) == nil {
        keys[key.request]?.remove(key)
        if keys[key.request]?.isEmpty == true { keys[key.request] = nil }
      }
    }
  }

  private let contents: Mutex<Contents>

  /// Makes an empty cache.
  ///
  /// - Parameters:
  ///   - byteLimit: the maximum number of bytes of pixels, 128 MiB by default. A single image that exceeds it is not
  ///     stored.
  ///   - countLimit: the maximum number of images; nil, the default, means no limit.
  public init(byteLimit: Int = 128 << 20, countLimit: Int? = nil) {
    contents = Mutex(Contents(byteLimit: byteLimit, countLimit: countLimit ?? .max))
  }

  /// The image of a key. Setting nil removes it.
  public subscript(key: ImageKey) -> LoadedImage? {
    get { contents.withLock { $0.use(key)?.image } }
    set {
      contents.withLock { contents in
        if let newValue { contents.set(newValue, nil, for: key) } else { contents.remove(key) }
      }
    }
  }

  /// The full-size image of a URL: that of ``ImageKey/init(_:partition:)``.
  public subscript(url: URL) -> LoadedImage? {
    get { self[ImageKey(url)] }
    set { self[ImageKey(url)] = newValue }
  }

  /// Returns the image of a key, unless its time is over.
  func usableImage(for key: ImageKey) -> LoadedImage? {
    guard let entry = contents.withLock({ $0.use(key) }), entry.validity?.isOver != true else { return nil }
    return entry.image
  }

  /// Stores an image that a loader has made, in place of images from an earlier file of its request.
  func store(_ image: LoadedImage, valid validity: Validity, for key: ImageKey) {
    contents.withLock { $0.set(image, validity, for: key) }
  }

  /// The number of images.
  public var count: Int { contents.withLock { $0.images.count } }

  /// The bytes of all images' pixels.
  public var byteCount: Int { contents.withLock { $0.images.cost } }

  /// Removes the least recently used images until the rest has at most `byteCount` bytes of pixels.
  public func trim(to byteCount: Int) { contents.withLock { $0.trim(to: byteCount) } }

  /// Removes all images.
  public func removeAll() { trim(to: -1) }

  /// Removes all images of a partition, for example when its user signs out.
  public func removePartition(_ partition: String) {
    contents.withLock { $0.removePartition(partition) }
  }
}
