/// Changes a decoded picture: cuts it, rounds its corners, blurs it.
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
  /// What the processor does, with all its settings: `blur(radius: 8)`. Part of the key under which a result is kept, so two
  /// processors with the same identifier must do the same.
  var identifier: String { get }

  /// The changed picture. Called on a thread for such work, never on one that runs Swift's tasks.
  func process(_ image: Bitmap) throws -> Bitmap
}
