/// A decoded picture: 8-bit red, green, blue and alpha, row after row from the top.
///
/// The alpha is *straight*: colours are not premultiplied with it. Colours are sRGB. There is no padding: a row is `width * 4` bytes, and pixel (x, y) begins at byte
/// `y * bytesPerRow + x * 4`.
public struct Bitmap: Sendable, Hashable {
  /// The bytes of a pixel: 4.
  public static let bytesPerPixel = 4

  /// The size in pixels.
  public let size: PixelSize
  /// The pixels: R, G, B, A, `size.width * size.height` times.
  public internal(set) var pixels: [UInt8]

  /// The bytes of a row: `size.width * 4`.
  public var bytesPerRow: Int { size.width * Bitmap.bytesPerPixel }

  /// Makes a picture of pixels. Their number must be that of the size: anything else is a mistake in the program.
  public init(size: PixelSize, pixels: [UInt8]) {
    precondition(
      size.byteCount == pixels.count,
      "a bitmap of \(size) has width * height * 4 bytes, not \(pixels.count): pass RGBA without padding")
    self.size = size
    self.pixels = pixels
  }
}
