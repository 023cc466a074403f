public import MartletEngine

/// An image, its source, and how long loading it took.
public struct LoadedImage: Sendable {
  /// The pixels, in the requested size.
  public var bitmap: Bitmap
  /// All frames, if the request is for an animation and there are several; ``bitmap`` is the first.
  public var animation: ImageAnimation?
  /// The file's format and full size; nil for an image that was not decoded from a file.
  public var info: ImageInfo?
  /// The defect of a file that is shown nevertheless, because ``ImageLoader/Configuration/decoding`` is tolerant; nil
  /// for a file without one.
  public var defect: ImageError?
  /// The bytes of the file; 0 for an image that was not decoded from a file.
  public var encodedBytes: Int
  /// The source of the image.
  public var source: ImageSource
  /// How long the caller waited.
  public var duration: Duration

  /// Makes an image from a bitmap, for an ``ImageCache``.
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

/// The source of an image.
@nonexhaustive public enum ImageSource: Sendable, Hashable, CustomStringConvertible {
  /// From memory: it was decoded before.
  case memory
  /// From the session: over the network, or from its cache.
  case session(HTTPResponse.Source)
  /// From the request's URL, which contains the image (`data:`).
  case inline
  /// From a local file (`file:`).
  case file

  /// `memory`, `network`, `cache`, …
  public var description: String {
    switch self {
    case .memory: "memory"
    case .inline: "inline"
    case .file: "file"
    case .session(let source): source.rawValue
    }
  }
}
