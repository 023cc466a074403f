public import MartletEngine
public import MartletSemantics

/// A request for an image, in a size and with a priority.
///
/// ```swift
/// let request = ImageRequest(url, targetSize: PixelSize(width: 320, height: 240), contentMode: .fill)
/// let image = try await loader.image(for: request)
/// ```
public struct ImageRequest: Sendable {
  /// The HTTP request; of one with a `data:` or `file:` URL, only the URL and the partition count. Its URL, its
  /// partition and all its own fields belong to the image's key. So with a field that names a tenant, each tenant has
  /// separate images; with a field that differs each time, loads are not shared.
  ///
  /// Its cache policy determines where the image may come from: with a `reload…` policy, neither images in memory nor
  /// remembered failures are used. If several callers share a load, the request of the first one is sent. A request
  /// other than a plain GET is sent each time, and its image is neither shared nor cached.
  public var http: HTTPRequest
  /// The box that the image is scaled down to, in pixels; nil, the default, for full size. Images are never enlarged.
  public var targetSize: PixelSize?
  /// How the image fills the box; ``ContentMode/fit`` by default.
  public var contentMode: ContentMode
  /// The processors of the decoded image, in this order; none by default.
  public var processors: [any ImageProcessor]
  /// Whether all frames of an animation are decoded, to ``LoadedImage/animation``; by default only the first frame is.
  public var isAnimated = false
  /// The priority; ``ImagePriority/normal`` by default. A load has the highest priority of its callers.
  public var priority: ImagePriority = .normal

  /// How an image fills a box.
  public enum ContentMode: Sendable, Hashable {
    /// The whole image is inside the box, which may not be filled.
    case fit
    /// The image covers the whole box. The parts outside the box are not cropped.
    case fill
  }

  /// Makes a request for the image in the response to an HTTP request.
  public init(
    _ request: HTTPRequest, targetSize: PixelSize? = nil, contentMode: ContentMode = .fit,
    processors: [any ImageProcessor] = []
  ) {
    http = request
    self.targetSize = targetSize
    self.contentMode = contentMode
    self.processors = processors
  }

  /// Makes a request for the image of a URL.
  public init(
    _ url: URL, targetSize: PixelSize? = nil, contentMode: ContentMode = .fit, processors: [any ImageProcessor] = []
  ) {
    self.init(
      HTTPRequest(.get, url), targetSize: targetSize, contentMode: contentMode, processors: processors)
  }

  /// Returns the same request with another priority.
  public func priority(_ priority: ImagePriority) -> ImageRequest {
    var copy = self
    copy.priority = priority
    return copy
  }

  var rendition: Rendition {
    Rendition(
      targetSize: targetSize, contentMode: targetSize == nil ? .fit : contentMode,
      isAnimated: isAnimated, processors: processors.map(\.identifier))
  }
}

/// The order in which waiting images are loaded and decoded. Among equal priorities, the first request is next.
public enum ImagePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// For images that may be needed later, such as those of an ``ImagePrefetcher``.
  case low
  /// The default.
  case normal
  /// For images that are visible now.
  case high

  /// Whether the left priority is lower.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The result to make from an image file: its size, frames and processors.
struct Rendition: Sendable, Hashable {
  var targetSize: PixelSize?
  var contentMode = ImageRequest.ContentMode.fit
  var isAnimated = false
  var processors: [String] = []
}
