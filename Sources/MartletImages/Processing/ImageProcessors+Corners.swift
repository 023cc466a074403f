extension ImageProcessors {
  /// Corners cut off along a quarter of a circle, with smooth edges.
  public struct RoundedCorners: ImageProcessor, Hashable {
    /// The radius in pixels; at most half of the shorter side is taken.
    public let radius: Int

    /// Makes a processor.
    public init(radius: Int) { self.radius = max(radius, 0) }

    /// The radius.
    public var identifier: String { "roundedCorners(\(radius))" }

    /// The picture, transparent outside of the corners.
    public func process(_ image: Bitmap) -> Bitmap {
      image.rounded(radius: min(Double(radius), Double(min(image.size.width, image.size.height)) / 2))
    }
  }

  /// The middle square, and of that the circle inside, with a smooth edge.
  public struct Circle: ImageProcessor, Hashable {
    /// Makes a processor.
    public init() {}

    /// Always the same.
    public var identifier: String { "circle" }

    /// The circle; transparent around it.
    public func process(_ image: Bitmap) -> Bitmap {
      let side = min(image.size.width, image.size.height)
      return image.cropped(to: PixelSize(width: side, height: side)).rounded(radius: Double(side) / 2)
    }
  }
}

extension Bitmap {
  /// Multiplies the alpha with how much of each pixel lies within the corners.
  fileprivate func rounded(radius: Double) -> Bitmap {
    var result = self
    let reach = Int(radius.rounded(.up))
    guard reach > 0 else { return self }
    for y in 0..<size.height where y < reach || y >= size.height - reach {
      for x in 0..<size.width where x < reach || x >= size.width - reach {
        // How far the pixel's middle is from that of the corner's circle.
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
