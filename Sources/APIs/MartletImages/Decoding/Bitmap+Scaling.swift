extension Bitmap {
  /// Returns the centre of the image; `target` must not be larger than it in either direction.
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

  /// Returns the image at any size: first enlarges the sides that grow, then shrinks the others.
  func stretched(to target: PixelSize) -> Bitmap {
    let grown = PixelSize(width: max(size.width, target.width), height: max(size.height, target.height))
    return (grown == size ? self : enlarged(to: grown)).shrunk(to: target)
  }

  /// Returns the image at `target`, which must not be larger than it in either direction, by area average.
  func shrunk(to target: PixelSize) -> Bitmap { AreaAverage.shrink(self, to: target) }

  /// Interpolates new pixels between the four nearest ones, with colours weighted by their alpha (bilinear).
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

  /// Returns, for each new pixel of an axis, the two source pixels around its centre and the weight of the second.
  private static func neighbours(from source: Int, to target: Int) -> [(first: Int, second: Int, weight: Float)] {
    (0..<target).map { index in
      let middle = max(0, (Float(index) + 0.5) * Float(source) / Float(target) - 0.5)
      let first = min(Int(middle), source - 1)
      return (first, min(first + 1, source - 1), middle - Float(first))
    }
  }
}

/// Shrinks an image: each new pixel is the average of the area that it covers, fractions of pixels included.
///
/// Colours are weighted by their alpha, so that the colour of transparent pixels has no effect. The average is that of the
/// sRGB values, as in browsers and image viewers.
private struct AreaAverage {
  private let columns: [Span]
  private let rows: [Span]
  /// How many source pixels a new one covers.
  private let area: Float

  /// The source pixels `first...last` that a new one covers along one axis; all but the outer two have the weight 1.
  private struct Span {
    var first: Int
    var last: Int
    var firstWeight: Float
    var lastWeight: Float

    func weight(of index: Int) -> Float { index == first ? firstWeight : index == last ? lastWeight : 1 }

    /// Returns the spans of `target` new pixels over `source` source pixels, `target` ≤ `source`.
    static func spans(from source: Int, to target: Int) -> [Span] {
      (0..<target).map { index in
        // Exact integers, in units of 1/target source pixels.
        let start = index * source
        let end = start + source
        let first = start / target
        let last = (end - 1) / target
        // Nothing is enlarged, so a span is at least one pixel long: first == last only if it covers that pixel whole.
        return Span(
          first: first, last: last,
          firstWeight: Float((first + 1) * target - start) / Float(target),
          lastWeight: Float(end - last * target) / Float(target))
      }
    }
  }

  private init(from source: PixelSize, to target: PixelSize) {
    columns = Span.spans(from: source.width, to: target.width)
    rows = Span.spans(from: source.height, to: target.height)
    area = Float(source.width) / Float(target.width) * Float(source.height) / Float(target.height)
  }

  /// Returns the image at `target`, which must not be larger than it in either direction; the image itself if that is its
  /// size.
  static func shrink(_ bitmap: Bitmap, to target: PixelSize) -> Bitmap {
    guard bitmap.size != target else { return bitmap }
    let average = AreaAverage(from: bitmap.size, to: target)
    var pixels = [UInt8](repeating: 0, count: target.width * target.height * Bitmap.bytesPerPixel)
    // The sums of the four channels for each source column.
    var sums = [Float](repeating: 0, count: bitmap.bytesPerRow)
    pixels.withUnsafeMutableBufferPointer { output in
      bitmap.pixels.withUnsafeBytes { input in
        for (y, row) in average.rows.enumerated() {
          sums.withUnsafeMutableBufferPointer { sums in
            sums.update(repeating: 0)
            func line(_ source: Int) -> UnsafeRawBufferPointer {
              UnsafeRawBufferPointer(rebasing: input[(source * bitmap.bytesPerRow)...].prefix(bitmap.bytesPerRow))
            }
            let isOpaque = (row.first...row.last).allSatisfy { Bitmap.isOpaque(line($0)) }
            for source in row.first...row.last {
              let line = line(source)
              let weight = row.weight(of: source)
              if isOpaque { addOpaque(line, weight: weight, to: sums) } else { add(line, weight: weight, to: sums) }
            }
            let bytesPerRow = target.width * Bitmap.bytesPerPixel
            let line = output[(y * bytesPerRow)...].prefix(bytesPerRow)
            average.write(
              UnsafeRawBufferPointer(sums), scale: isOpaque ? 255 : 1,
              to: UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: line)))
          }
        }
      }
    }
    return Bitmap(size: target, pixels: pixels)
  }

  /// Adds a source row to the sums of its columns: colours times alpha times weight, and alpha times weight.
  private static func add(_ line: UnsafeRawBufferPointer, weight: Float, to sums: UnsafeMutableBufferPointer<Float>) {
    for at in stride(from: 0, to: line.count, by: Bitmap.bytesPerPixel) {
      let alpha = Float(line[at + 3]) * weight
      for channel in at..<at + 3 { sums[channel] += Float(line[channel]) * alpha }
      sums[at + 3] += alpha
    }
  }

  /// Adds a row of an opaque image: without the alpha, a loop that the compiler vectorizes.
  private static func addOpaque(
    _ line: UnsafeRawBufferPointer, weight: Float, to sums: UnsafeMutableBufferPointer<Float>
  ) {
    for index in 0..<line.count { sums[index] += Float(line[index]) * weight }
  }

  /// Writes a new row: colours divided by their total weight, alpha by the area covered.
  private func write(
    _ sums: UnsafeRawBufferPointer, scale: Float, to line: UnsafeMutableRawBufferPointer
  ) {
    func source(_ x: Int) -> SIMD4<Float> { sums.loadUnaligned(fromByteOffset: x &* 16, as: SIMD4<Float>.self) }
    for (index, column) in columns.enumerated() {
      var sum = source(column.first) * column.firstWeight
      if column.last > column.first {
        for x in column.first + 1..<column.last { sum += source(x) }
        sum += source(column.last) * column.lastWeight
      }
      guard sum.w > 0 else { continue }
      var color = sum * (scale / sum.w)
      color.w = sum.w / area
      line.storeBytes(of: rounded(color), toByteOffset: index &* Bitmap.bytesPerPixel, as: SIMD4<UInt8>.self)
    }
  }

  /// Rounds to the nearest bytes, and clamps, because sums of floats may be slightly above 255.
  ///
  /// A float of 2²³ and more is a whole number, with its ones in the lowest bits: the addition rounds.
  private func rounded(_ color: SIMD4<Float>) -> SIMD4<UInt8> {
    let rounded = color.replacing(with: 255, where: color .> 255) + 8_388_608
    return SIMD4(truncatingIfNeeded: unsafeBitCast(rounded, to: SIMD4<UInt32>.self))
  }
}
