extension ImageProcessors {
  /// A Gaussian blur, as three averages over boxes come near it: the time does not depend on the radius.
  public struct Blur: ImageProcessor, Hashable {
    /// How far pixels run into each other: twice the standard deviation, in pixels.
    public let radius: Int

    /// Makes a processor; 8 pixels by default.
    public init(radius: Int = 8) { self.radius = max(radius, 0) }

    /// The radius.
    public var identifier: String { "blur(\(radius))" }

    /// The blurred picture. At the edges the outermost pixels count as if they went on.
    public func process(_ image: Bitmap) -> Bitmap {
      guard radius > 0, !image.pixels.isEmpty else { return image }
      let (width, height) = (image.size.width, image.size.height)
      var values = [SIMD4<Float>](repeating: .zero, count: width * height)
      for y in 0..<height { for x in 0..<width { values[y * width + x] = image.premultiplied(x, y) } }
      // Three boxes of 2r+1 pixels have the variance of a Gaussian with σ² = r(r+1), so σ = radius/2 asks for r ≈ radius/2.
      // Beyond the longer side there are only the outermost pixels.
      let reach = min(max(1, radius / 2), max(width, height))
      for _ in 0..<3 {
        for y in 0..<height { Blur.average(&values, from: y * width, step: 1, count: width, reach) }
        for x in 0..<width { Blur.average(&values, from: x, step: width, count: height, reach) }
      }
      var result = Bitmap(size: image.size, pixels: [UInt8](repeating: 0, count: image.pixels.count))
      for y in 0..<height { for x in 0..<width { result.setPremultiplied(values[y * width + x], x, y) } }
      return result
    }

    /// Replaces each value of a row or column by the mean of those up to `reach` away: a running sum.
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
