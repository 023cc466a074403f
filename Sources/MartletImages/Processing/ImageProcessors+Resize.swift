extension ImageProcessors {
  /// Another size in pixels.
  ///
  /// To make a thumbnail of a file, ``ImageDecoder/Options/fitting`` is cheaper: it scales while it decodes.
  public struct Resize: ImageProcessor, Hashable {
    /// What is done about other proportions.
    public enum Mode: String, Sendable, Hashable {
      /// The whole picture, inside the size.
      case fit
      /// A picture of exactly the size; what sticks out on both sides is cut off.
      case fill
      /// A picture of exactly the size, stretched.
      case stretch
    }

    /// The size in pixels; sides below 1 count as 1.
    public let size: PixelSize
    /// What is done about other proportions; ``Mode-swift.enum/fit`` by default.
    public let mode: Mode
    /// Whether a smaller picture is enlarged; by default it stays as small as it is.
    public let enlarges: Bool

    /// Makes a processor.
    public init(width: Int, height: Int, mode: Mode = .fit, enlarges: Bool = false) {
      // No side of a picture is longer, so that nothing overflows.
      let sides = 1...Int(Int32.max)
      size = PixelSize(
        width: min(max(width, sides.lowerBound), sides.upperBound),
        height: min(max(height, sides.lowerBound), sides.upperBound))
      self.mode = mode
      self.enlarges = enlarges
    }

    /// All of the settings.
    public var identifier: String { "resize(\(size), \(mode.rawValue)\(enlarges ? ", enlarges" : ""))" }

    /// The picture in the other size; by area average where it shrinks, and between the nearest pixels where it grows.
    ///
    /// - Throws: ``ImageError`` of the kind `tooLarge` above the 400 MB of ``ImageDecoder/Limits``.
    public func process(_ image: Bitmap) throws -> Bitmap {
      guard !image.pixels.isEmpty else { return image }
      var target = scaled(image.size)
      if !enlarges, target.width > image.size.width || target.height > image.size.height { target = image.size }
      _ = try ImageDecoder.Limits().byteCount(target)
      let result = image.stretched(to: target)
      guard mode == .fill else { return result }
      return result.cropped(
        to: PixelSize(width: min(size.width, target.width), height: min(size.height, target.height)))
    }

    /// The size of the whole picture, before anything is cut off.
    private func scaled(_ stored: PixelSize) -> PixelSize {
      guard mode != .stretch else { return size }
      let across = Double(size.width) / Double(stored.width)
      let down = Double(size.height) / Double(stored.height)
      let factor = mode == .fit ? min(across, down) : max(across, down)
      return PixelSize(
        width: max(1, Int((Double(stored.width) * factor).rounded())),
        height: max(1, Int((Double(stored.height) * factor).rounded())))
    }
  }

  /// The middle of a picture; one that is smaller stays as it is.
  public struct Crop: ImageProcessor, Hashable {
    /// The size in pixels; sides below 1 count as 1.
    public let size: PixelSize

    /// Makes a processor.
    public init(width: Int, height: Int) { size = PixelSize(width: max(width, 1), height: max(height, 1)) }

    /// The size.
    public var identifier: String { "crop(\(size))" }

    /// The middle.
    public func process(_ image: Bitmap) -> Bitmap {
      image.cropped(
        to: PixelSize(width: min(size.width, image.size.width), height: min(size.height, image.size.height)))
    }
  }
}

extension Bitmap {
  /// The middle; `target` is not larger.
  func cropped(to target: PixelSize) -> Bitmap {
    guard target != size else { return self }
    let left = (size.width - target.width) / 2
    let top = (size.height - target.height) / 2
    var result: [UInt8] = []
    result.reserveCapacity(target.width * target.height * Bitmap.bytesPerPixel)
    for y in top..<top + target.height {
      let start = y * bytesPerRow + left * Bitmap.bytesPerPixel
      result += pixels[start..<start + target.width * Bitmap.bytesPerPixel]
    }
    return Bitmap(size: target, pixels: result)
  }

  /// Any size: first each side that grows, then each that shrinks.
  func stretched(to target: PixelSize) -> Bitmap {
    let grown = PixelSize(width: max(size.width, target.width), height: max(size.height, target.height))
    return AreaAverage.shrink(grown == size ? self : enlarged(to: grown), to: target)
  }

  /// New pixels lie between the four nearest ones; colours weigh as much as they are opaque.
  private func enlarged(to target: PixelSize) -> Bitmap {
    var result = Bitmap(size: target, pixels: [UInt8](repeating: 0, count: target.width * target.height * 4))
    let columns = Bitmap.neighbours(from: size.width, to: target.width)
    let rows = Bitmap.neighbours(from: size.height, to: target.height)
    for (y, row) in rows.enumerated() {
      for (x, column) in columns.enumerated() {
        let upper =
          premultiplied(column.first, row.first) * (1 - column.weight)
          + premultiplied(column.second, row.first) * column.weight
        let lower =
          premultiplied(column.first, row.second) * (1 - column.weight)
          + premultiplied(column.second, row.second) * column.weight
        result.setPremultiplied(upper * (1 - row.weight) + lower * row.weight, x, y)
      }
    }
    return result
  }

  /// For each new pixel of an axis the two stored ones around its middle, and how much the second counts.
  private static func neighbours(from source: Int, to target: Int) -> [(first: Int, second: Int, weight: Float)] {
    (0..<target).map { index in
      let middle = max(0, (Float(index) + 0.5) * Float(source) / Float(target) - 0.5)
      let first = min(Int(middle), source - 1)
      return (first, min(first + 1, source - 1), middle - Float(first))
    }
  }

  /// A pixel whose colours are multiplied with its alpha (0 to 255).
  func premultiplied(_ x: Int, _ y: Int) -> SIMD4<Float> {
    let at = y * bytesPerRow + x * Bitmap.bytesPerPixel
    let alpha = Float(pixels[at + 3])
    return SIMD4(
      Float(pixels[at]) * alpha / 255, Float(pixels[at + 1]) * alpha / 255,
      Float(pixels[at + 2]) * alpha / 255, alpha)
  }

  mutating func setPremultiplied(_ value: SIMD4<Float>, _ x: Int, _ y: Int) {
    guard value.w > 0 else { return }
    let at = y * bytesPerRow + x * Bitmap.bytesPerPixel
    let color = value * (255 / value.w)
    for channel in 0..<3 { pixels[at + channel] = UInt8(min(max(color[channel] + 0.5, 0), 255)) }
    pixels[at + 3] = UInt8(min(max(value.w + 0.5, 0), 255))
  }
}
