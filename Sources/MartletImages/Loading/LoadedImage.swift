public import MartletEngine

/// A picture, and how it came.
public struct LoadedImage: Sendable {
  /// The pixels, in the size that was asked for.
  public var bitmap: Bitmap
  /// All frames, where the request wanted them and there is more than one; ``bitmap`` is the first.
  public var animation: ImageAnimation?
  /// The file's format and full size; nil for a picture that was made in the program.
  public var info: ImageInfo?
  /// The bytes of the file; 0 for a picture that was made in the program.
  public var encodedBytes: Int
  /// Where it came from.
  public var source: ImageSource
  /// How long its caller waited.
  public var duration: Duration

  /// A picture that was made in the program, for an ``ImageCache``.
  public init(_ bitmap: Bitmap) {
    self.init(bitmap: bitmap, info: nil, encodedBytes: 0, source: .memory)
  }

  /// The bytes of all pixels.
  public var pixelBytes: Int {
    animation.map { $0.frames.reduce(0) { $0 + $1.bitmap.pixels.count } } ?? bitmap.pixels.count
  }

  init(bitmap: Bitmap, info: ImageInfo?, encodedBytes: Int, source: ImageSource) {
    self.bitmap = bitmap
    self.info = info
    self.encodedBytes = encodedBytes
    self.source = source
    duration = .zero
  }
}

/// Where a picture came from.
public enum ImageSource: Sendable, Hashable, CustomStringConvertible {
  /// The memory: it was decoded before.
  case memory
  /// The session: over the network, or from its cache.
  case session(ResponseSource)

  /// `memory`, `network`, `cache`, …
  public var description: String {
    switch self {
    case .memory: "memory"
    case .session(let source): source.rawValue
    }
  }
}
