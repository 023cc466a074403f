public import MartletEngine
public import MartletSemantics

/// Which picture is wanted, in which size, and how urgently.
///
/// ```swift
/// let request = ImageRequest(url, targetSize: PixelSize(width: 320, height: 240), contentMode: .fill)
/// let image = try await loader.image(for: request)
/// ```
public struct ImageRequest: Sendable {
  /// What is sent. Its URL, its partition and all of its own fields are part of the picture's key, so that a field that names a
  /// tenant keeps pictures apart, and one that is different each time shares nothing.
  ///
  /// Its cache policy says where the picture may come from: with one that begins with `reload` neither the memory nor a
  /// remembered failure is asked. Of callers who share a load, the first one's request is sent. What is no plain GET is sent each time, and its picture is neither shared nor kept.
  public var http: HTTPRequest
  /// The box that the picture is decoded for, in pixels; nil, the default, for full size. Nothing is enlarged.
  public var targetSize: PixelSize?
  /// How the picture lies in the box; ``ContentMode/fit`` by default.
  public var contentMode: ContentMode
  /// What is done to the decoded picture, in this order; nothing by default.
  public var processors: [any ImageProcessor]
  /// Whether all frames of an animation are wanted, in ``LoadedImage/animation``; by default the first alone is decoded.
  public var isAnimated = false
  /// How urgent it is; ``ImagePriority/normal`` by default. Several callers of one picture have the highest of theirs.
  public var priority: ImagePriority = .normal

  /// How a picture lies in a box.
  public enum ContentMode: Sendable, Hashable {
    /// All of the picture is in the box, which may have room to spare.
    case fit
    /// All of the box is covered; what of the picture sticks out is there, and is to be cut off where it is shown.
    case fill
  }

  /// Makes the request for a picture.
  public init(
    _ request: HTTPRequest, targetSize: PixelSize? = nil, contentMode: ContentMode = .fit,
    processors: [any ImageProcessor] = []
  ) {
    http = request
    self.targetSize = targetSize
    self.contentMode = contentMode
    self.processors = processors
  }

  /// Makes the request for the picture of a URL.
  public init(
    _ url: URL, targetSize: PixelSize? = nil, contentMode: ContentMode = .fit, processors: [any ImageProcessor] = []
  ) {
    self.init(
      HTTPRequest(.get, url), targetSize: targetSize, contentMode: contentMode, processors: processors)
  }

  /// The same request in another degree of urgency.
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

/// How urgent a picture is: which of those that wait is loaded, and decoded, next. Of equal ones, the first that came.
public enum ImagePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
  /// Perhaps needed later: what an ``ImagePrefetcher`` loads.
  case low
  /// The default.
  case normal
  /// Somebody looks at its placeholder.
  case high

  /// Whether the left one is less urgent.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// What becomes of a picture's file.
struct Rendition: Sendable, Hashable {
  var targetSize: PixelSize?
  var contentMode = ImageRequest.ContentMode.fit
  var isAnimated = false
  var processors: [String] = []
}
