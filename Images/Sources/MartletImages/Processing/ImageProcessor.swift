/// Transforms a decoded image: crops it, rounds its corners, blurs it.
///
/// ```swift
/// struct Negative: ImageProcessor {
///   var identifier: String { "negative" }
///
///   func process(_ image: Bitmap) throws -> Bitmap {
///     var pixels = image.pixels
///     for index in pixels.indices where index % 4 != 3 { pixels[index] = 255 - pixels[index] }
///     return Bitmap(size: image.size, pixels: pixels)
///   }
/// }
/// ```
public protocol ImageProcessor: Sendable {
  /// The processor's action with all its settings, such as `blur(radius: 8)`. It is part of the key of a cached result,
  /// so two processors with the same identifier must return the same result.
  var identifier: String { get }

  /// Returns the transformed image. Called on a decoding thread, never on one that runs Swift's tasks.
  func process(_ image: Bitmap) throws -> Bitmap
}

/// The built-in processors: ``Resize``, ``Crop``, ``Circle``, ``RoundedCorners``, ``Blur`` and ``Composition``.
///
/// ```swift
/// let avatar = ImageProcessors.Composition([
///   ImageProcessors.Resize(width: 96, height: 96, mode: .fill), ImageProcessors.Circle(),
/// ])
/// ```
///
/// All of them process upright pixels, and the color of transparent pixels has no effect on visible ones. They never
/// fail, except ``Resize`` to a size above the memory limit.
public enum ImageProcessors {
  /// Applies several processors, one after another.
  public struct Composition: ImageProcessor, CustomStringConvertible {
    /// The processors in their order.
    public let processors: [any ImageProcessor]

    /// Makes a processor from several; without any, it returns the image unchanged.
    public init(_ processors: [any ImageProcessor]) { self.processors = processors }

    /// The identifiers of all processors in their order.
    public var identifier: String { "[\(processors.map(\.identifier).joined(separator: ", "))]" }
    /// The identifier.
    public var description: String { identifier }

    /// Returns the result of the last processor.
    public func process(_ image: Bitmap) throws -> Bitmap {
      try processors.reduce(image) { try $1.process($0) }
    }
  }
}
