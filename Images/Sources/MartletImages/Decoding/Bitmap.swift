/// A decoded image: 8-bit red, green, blue and alpha, row by row from the top.
///
/// Colors are sRGB. The alpha is *straight*: colors are not premultiplied with it. There is no padding: a row has
/// `width * 4` bytes, and pixel (x, y) begins at byte `y * bytesPerRow + x * 4`.
public struct Bitmap: Sendable, Hashable {
  /// The bytes of a pixel: 4.
  public static let bytesPerPixel = 4

  /// The size in pixels.
  public let size: PixelSize
  /// The pixels: R, G, B, A, `size.width * size.height` times.
  public internal(set) var pixels: [UInt8]

  /// The bytes of a row: `size.width * 4`.
  public var bytesPerRow: Int { size.width * Bitmap.bytesPerPixel }

  /// Makes a bitmap from RGBA pixels.
  ///
  /// - Precondition: `pixels` has `size.width * size.height * 4` bytes.
  public init(size: PixelSize, pixels: [UInt8]) {
    precondition(
      size.byteCount == pixels.count,
      "a bitmap of \(size) has width * height * 4 bytes, not \(pixels.count): pass RGBA without padding")
    self.size = size
    self.pixels = pixels
  }
}

extension Bitmap {
  /// Whether the alpha of every pixel is 255.
  var isOpaque: Bool {
    pixels.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: bytesPerRow).allSatisfy { start in
        Bitmap.isOpaque(UnsafeRawBufferPointer(rebasing: bytes[start..<start + bytesPerRow]))
      }
    }
  }

  /// Whether the alpha of every pixel of a row is 255. Combines all of them before it compares, which is fast.
  static func isOpaque(_ row: UnsafeRawBufferPointer) -> Bool {
    var combined = UInt32.max
    for x in 0..<row.count / Bitmap.bytesPerPixel {
      combined &= row.loadUnaligned(fromByteOffset: x &* Bitmap.bytesPerPixel, as: UInt32.self)
    }
    return UInt32(littleEndian: combined) >> 24 == 255
  }

  /// The color of a pixel multiplied with its alpha, and the alpha, 0 to 255 each.
  func premultiplied(_ x: Int, _ y: Int) -> SIMD4<Float> {
    let at = y * bytesPerRow + x * Bitmap.bytesPerPixel
    let alpha = Float(pixels[at + 3])
    return SIMD4(
      Float(pixels[at]) * alpha / 255, Float(pixels[at + 1]) * alpha / 255,
      Float(pixels[at + 2]) * alpha / 255, alpha)
  }

  /// Sets a pixel from a premultiplied color. A transparent one leaves the pixel unchanged.
  mutating func setPremultiplied(_ value: SIMD4<Float>, _ x: Int, _ y: Int) {
    guard value.w > 0 else { return }
    let at = y * bytesPerRow + x * Bitmap.bytesPerPixel
    let color = value * (255 / value.w)
    for channel in 0..<3 { pixels[at + channel] = UInt8(min(max(color[channel] + 0.5, 0), 255)) }
    pixels[at + 3] = UInt8(min(max(value.w + 0.5, 0), 255))
  }
}

/// A width and a height in pixels.
public struct PixelSize: Sendable, Hashable, CustomStringConvertible {
  /// The width in pixels.
  public var width: Int
  /// The height in pixels.
  public var height: Int

  /// Makes a size.
  public init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  /// The size as text: `640×480`.
  public var description: String { "\(width)×\(height)" }
}

extension PixelSize {
  /// The size with width and height exchanged.
  var transposed: PixelSize { PixelSize(width: height, height: width) }

  /// The number of pixels; nil if it overflows an `Int`, or if a side is negative.
  var area: Int? {
    guard width >= 0, height >= 0 else { return nil }
    let (area, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? nil : area
  }

  /// The bytes of an RGBA bitmap of this size; nil if they overflow an `Int`.
  var byteCount: Int? {
    guard let area else { return nil }
    let (bytes, overflow) = area.multipliedReportingOverflow(by: Bitmap.bytesPerPixel)
    return overflow ? nil : bytes
  }

  /// Returns the size with both sides divided, rounded up.
  func divided(by divisor: Int) -> PixelSize {
    PixelSize(width: (width + divisor - 1) / divisor, height: (height + divisor - 1) / divisor)
  }

  /// Returns the largest size of the same proportions inside `box`, never larger than this one, at least one pixel each
  /// way.
  ///
  /// Both sizes have sides of at most 31 bits (every format checks that), so the products cannot overflow.
  func fitted(into box: PixelSize) -> PixelSize {
    let bounds = PixelSize(width: min(max(box.width, 1), width), height: min(max(box.height, 1), height))
    if bounds.width * height <= bounds.height * width {
      return PixelSize(width: bounds.width, height: max(1, (height * bounds.width + width / 2) / width))
    }
    return PixelSize(width: max(1, (width * bounds.height + height / 2) / height), height: bounds.height)
  }
}

/// A color: sRGB with straight alpha, 8 bits each.
public struct PixelColor: Sendable, Hashable {
  /// The red component, 0 to 255.
  public var red: UInt8
  /// The green component, 0 to 255.
  public var green: UInt8
  /// The blue component, 0 to 255.
  public var blue: UInt8
  /// The opacity, 0 to 255; 255, opaque, by default.
  public var alpha: UInt8

  /// Makes a color.
  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  /// Opaque white.
  public static let white = PixelColor(red: 255, green: 255, blue: 255)
  /// Opaque black.
  public static let black = PixelColor(red: 0, green: 0, blue: 0)
  /// Transparent black.
  public static let clear = PixelColor(red: 0, green: 0, blue: 0, alpha: 0)
}
