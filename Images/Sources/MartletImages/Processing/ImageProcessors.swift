extension ImageProcessors {
  /// Scales an image to another size.
  ///
  /// For a thumbnail of a file, ``ImageDecoder/Options/fitting`` is cheaper: it scales while it decodes.
  public struct Resize: ImageProcessor, Hashable {
    /// How an image with other proportions is scaled.
    public enum Mode: String, Sendable, Hashable {
      /// So that the whole image is inside the size.
      case fit
      /// So that the image fills exactly the size; the rest is cropped on both sides.
      case fill
      /// To exactly the size, changing the proportions.
      case stretch
    }

    /// The size in pixels; sides below 1 count as 1.
    public let size: PixelSize
    /// How an image with other proportions is scaled; ``Mode-swift.enum/fit`` by default.
    public let mode: Mode
    /// Whether a smaller image is enlarged; by default it keeps its size.
    public let enlarges: Bool

    /// Makes a processor.
    public init(width: Int, height: Int, mode: Mode = .fit, enlarges: Bool = false) {
      // No side of an image is longer; the products of two sides do not overflow.
      let sides = 1...Int(Int32.max)
      size = PixelSize(
        width: min(max(width, sides.lowerBound), sides.upperBound),
        height: min(max(height, sides.lowerBound), sides.upperBound))
      self.mode = mode
      self.enlarges = enlarges
    }

    /// The name with all settings.
    public var identifier: String { "resize(\(size), \(mode.rawValue)\(enlarges ? ", enlarges" : ""))" }

    /// Returns the image in the other size: shrunk by area average, enlarged by bilinear interpolation.
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

    /// Returns the size of the whole image, before it is cropped.
    private func scaled(_ source: PixelSize) -> PixelSize {
      guard mode != .stretch else { return size }
      let across = Double(size.width) / Double(source.width)
      let down = Double(size.height) / Double(source.height)
      let factor = mode == .fit ? min(across, down) : max(across, down)
      return PixelSize(
        width: max(1, Int((Double(source.width) * factor).rounded())),
        height: max(1, Int((Double(source.height) * factor).rounded())))
    }
  }

  /// Crops an image to its centre; a smaller one is returned unchanged.
  public struct Crop: ImageProcessor, Hashable {
    /// The size in pixels; sides below 1 count as 1.
    public let size: PixelSize

    /// Makes a processor.
    public init(width: Int, height: Int) { size = PixelSize(width: max(width, 1), height: max(height, 1)) }

    /// The name with the size.
    public var identifier: String { "crop(\(size))" }

    /// Returns the centre of the image.
    public func process(_ image: Bitmap) -> Bitmap {
      image.cropped(
        to: PixelSize(width: min(size.width, image.size.width), height: min(size.height, image.size.height)))
    }
  }
}

extension ImageProcessors {
  /// Rounds the corners of an image, with antialiased edges.
  public struct RoundedCorners: ImageProcessor, Hashable {
    /// The radius in pixels; at most half of the shorter side is used.
    public let radius: Int

    /// Makes a processor; a negative radius counts as 0.
    public init(radius: Int) { self.radius = max(radius, 0) }

    /// The name with the radius.
    public var identifier: String { "roundedCorners(\(radius))" }

    /// Returns the image, transparent outside of the rounded corners.
    public func process(_ image: Bitmap) -> Bitmap {
      image.rounded(radius: min(Double(radius), Double(min(image.size.width, image.size.height)) / 2))
    }
  }

  /// Crops an image to the circle in its centre, with an antialiased edge.
  public struct Circle: ImageProcessor, Hashable {
    /// Makes a processor.
    public init() {}

    /// The name.
    public var identifier: String { "circle" }

    /// Returns the square around the circle, transparent outside of it.
    public func process(_ image: Bitmap) -> Bitmap {
      let side = min(image.size.width, image.size.height)
      return image.cropped(to: PixelSize(width: side, height: side)).rounded(radius: Double(side) / 2)
    }
  }
}

extension Bitmap {
  /// Multiplies the alpha of each pixel by how much of it is inside the rounded corners.
  fileprivate func rounded(radius: Double) -> Bitmap {
    var result = self
    let reach = Int(radius.rounded(.up))
    guard reach > 0 else { return self }
    for y in 0..<size.height where y < reach || y >= size.height - reach {
      for x in 0..<size.width where x < reach || x >= size.width - reach {
        // The distance of the pixel's centre from that of the corner's circle.
        let across = max(radius - Double(x) - 0.5, Double(x) + 0.5 - (Double(size.width) - radius), 0)
        let down = max(radius - Double(y) - 0.5, Double(y) + 0.5 - (Double(size.height) - radius), 0)
        let inside = min(max(radius + 0.5 - (across * across + down * down).squareRoot(), 0), 1)
        guard inside < 1 else { continue }
        let at = y * bytesPerRow + x * Bitmap.bytesPerPixel + 3
        result.pixels[at] = UInt8(Double(pixels[at]) * inside + 0.5)
      }
    }
    return result
  }
}

extension ImageProcessors {
  /// Blurs an image by three box filters, which approximate a Gaussian: the time does not depend on the radius.
  public struct Blur: ImageProcessor, Hashable {
    /// The radius in pixels: twice the standard deviation.
    public let radius: Int

    /// Makes a processor; 8 pixels by default. A negative radius counts as 0, which returns the image unchanged.
    public init(radius: Int = 8) { self.radius = max(radius, 0) }

    /// The name with the radius.
    public var identifier: String { "blur(\(radius))" }

    /// Returns the blurred image. Outside of the image the outermost pixels are repeated.
    public func process(_ image: Bitmap) -> Bitmap {
      guard radius > 0, !image.pixels.isEmpty else { return image }
      let (width, height) = (image.size.width, image.size.height)
      var values = [SIMD4<Float>](repeating: .zero, count: width * height)
      for y in 0..<height { for x in 0..<width { values[y * width + x] = image.premultiplied(x, y) } }
      // Three boxes of 2r+1 pixels have the variance of a Gaussian with σ² = r(r+1), so σ = radius/2 requires r ≈
      // radius/2. Beyond the longer side there are only repeated pixels.
      let reach = min(max(1, radius / 2), max(width, height))
      for _ in 0..<3 {
        for y in 0..<height { Blur.average(&values, from: y * width, step: 1, count: width, reach) }
        for x in 0..<width { Blur.average(&values, from: x, step: width, count: height, reach) }
      }
      var result = Bitmap(size: image.size, pixels: [UInt8](repeating: 0, count: image.pixels.count))
      for y in 0..<height { for x in 0..<width { result.setPremultiplied(values[y * width + x], x, y) } }
      return result
    }

    /// Replaces each value of a row or column by the mean of those at most `reach` away, with a running sum.
    private static func average(
      _ values: inout [SIMD4<Float>], from start: Int, step: Int, count: Int, _ reach: Int
    ) {
      let line = (0..<count).map { values[start + $0 * step] }
      func value(_ index: Int) -> SIMD4<Float> { line[min(max(index, 0), count - 1)] }
      var sum = SIMD4<Float>.zero
      for index in -reach...reach { sum += value(index) }
      for index in 0..<count {
        values[start + index * step] = sum / Float(2 * reach + 1)
        sum += value(index + reach + 1) - value(index - reach)
      }
    }
  }
}
