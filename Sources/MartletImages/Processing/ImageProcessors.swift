/// The built-in processors: ``Resize``, ``Crop``, ``Circle``, ``RoundedCorners``, ``Blur`` and ``Composition``.
///
/// ```swift
/// let avatar = ImageProcessors.Composition([
///   ImageProcessors.Resize(width: 96, height: 96, mode: .fill), ImageProcessors.Circle(),
/// ])
/// ```
///
/// All work on upright pixels and keep the colour of invisible ones out of what is visible. They never fail, but for a
/// size that no memory holds.
public enum ImageProcessors {
  /// Several processors, one after another.
  public struct Composition: ImageProcessor, CustomStringConvertible {
    /// The processors in their order.
    public let processors: [any ImageProcessor]

    /// Makes one of several; of none, it changes nothing.
    public init(_ processors: [any ImageProcessor]) { self.processors = processors }

    /// The identifiers, one behind the other.
    public var identifier: String { "[\(processors.map(\.identifier).joined(separator: ", "))]" }
    /// The identifier.
    public var description: String { identifier }

    /// The result of the last.
    public func process(_ image: Bitmap) throws -> Bitmap {
      try processors.reduce(image) { try $1.process($0) }
    }
  }
}
