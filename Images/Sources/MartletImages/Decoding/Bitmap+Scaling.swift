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

  /// Returns the image at any size. It first shrinks the sides that become shorter, then enlarges the others, so that
  /// the intermediate image is not larger than either.
  func stretched(to target: PixelSize) -> Bitmap {
    let small = shrunk(to: PixelSize(width: min(size.width, target.width), height: min(size.height, target.height)))
    return small.size == target ? small : small.enlarged(to: target)
  }

  /// Returns the image at `target`, which must not be larger than it in either direction, by area average.
  func shrunk(to target: PixelSize) -> Bitmap { AreaAverage.shrink(self, to: target) }

  /// Interpolates new pixels between the four nearest ones, with colors weighted by their alpha (bilinear).
  private func enlarged(to target: PixelSize) -> Bitmap {
    var result = Bitmap(size: target, pixels: [UInt8](repeating: 0, count: target.width * target.height * 4))
    for y in 0..<target.height {
      let row = Neighbours(of: y, from: size.height, to: target.height)
      for x in 0..<target.width {
        let column = Neighbours(of: x, from: size.width, to: target.width)
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
}

/// The two source pixels of an axis around the centre of a new one, and the weight of the second.
private struct Neighbours {
  let first: Int
  let second: Int
  let weight: Float

  init(of index: Int, from source: Int, to target: Int) {
    let middle = max(0, (Float(index) + 0.5) * Float(source) / Float(target) - 0.5)
    first = min(Int(middle), source - 1)
    second = min(first + 1, source - 1)
    weight = middle - Float(first)
  }
}

/// Shrinks an image: each new pixel is the average of the area that it covers, including fractions of pixels.
///
/// Colors are weighted by their alpha, so the color of transparent pixels has no effect. The average is calculated from
/// the sRGB values, as in browsers and image viewers.
private struct AreaAverage {
  private let source: PixelSize
  private let columns: [Span]
  /// How many source pixels a new one covers.
  private let area: Float
  /// How many source columns are summed at a time: the sums of a whole row could take four times the image.
  private static let pieceWidth = 4096

  /// The source pixels `first...last` that a new one covers along one axis; all but the outer two have the weight 1.
  private struct Span {
    let first: Int
    let last: Int
    let firstWeight: Float
    let lastWeight: Float

    func weight(of index: Int) -> Float { index == first ? firstWeight : index == last ? lastWeight : 1 }

    /// Makes the span of a new pixel, one of `target` over `source` source pixels, `target` ≤ `source`.
    init(of index: Int, from source: Int, to target: Int) {
      // Exact integers, in units of 1/target source pixels.
      let start = index * source
      let end = start + source
      first = start / target
      last = (end - 1) / target
      // Nothing is enlarged, so a span is at least one pixel long: first == last only if it covers that whole pixel.
      firstWeight = Float((first + 1) * target - start) / Float(target)
      lastWeight = Float(end - last * target) / Float(target)
    }
  }

  private init(from source: PixelSize, to target: PixelSize) {
    self.source = source
    columns = (0..<target.width).map { Span(of: $0, from: source.width, to: target.width) }
    area = Float(source.width) / Float(target.width) * Float(source.height) / Float(target.height)
  }

  /// Returns the image at `target`, which must not be larger than it in either direction; returns the image itself if
  /// it already has that size.
  static func shrink(_ bitmap: Bitmap, to target: PixelSize) -> Bitmap {
    guard bitmap.size != target else { return bitmap }
    let average = AreaAverage(from: bitmap.size, to: target)
    let bytesPerRow = target.width * Bitmap.bytesPerPixel
    var pixels = [UInt8](repeating: 0, count: bytesPerRow * target.height)
    // The sums of the four channels for each source column of a piece.
    var sums = [Float](repeating: 0, count: min(bitmap.size.width, pieceWidth) * Bitmap.bytesPerPixel)
    pixels.withUnsafeMutableBytes { output in
      bitmap.pixels.withUnsafeBytes { input in
        sums.withUnsafeMutableBufferPointer { sums in
          for y in 0..<target.height {
            average.write(
              Span(of: y, from: bitmap.size.height, to: target.height), of: input, by: sums,
              to: UnsafeMutableRawBufferPointer(rebasing: output[(y * bytesPerRow)...].prefix(bytesPerRow)))
          }
        }
      }
    }
    return Bitmap(size: target, pixels: pixels)
  }

  /// Writes the new row that covers some source rows, piece by piece.
  private func write(
    _ rows: Span, of input: UnsafeRawBufferPointer, by sums: UnsafeMutableBufferPointer<Float>,
    to line: UnsafeMutableRawBufferPointer
  ) {
    func part(of row: Int, _ columns: Range<Int>) -> UnsafeRawBufferPointer {
      let start = (row * source.width + columns.lowerBound) * Bitmap.bytesPerPixel
      return UnsafeRawBufferPointer(rebasing: input[start...].prefix(columns.count * Bitmap.bytesPerPixel))
    }
    let isOpaque = (rows.first...rows.last).allSatisfy { Bitmap.isOpaque(part(of: $0, 0..<source.width)) }
    var index = 0
    var sum = SIMD4<Float>.zero
    for start in stride(from: 0, to: source.width, by: Self.pieceWidth) {
      let piece = start..<min(start + Self.pieceWidth, source.width)
      sums.update(repeating: 0)
      for row in rows.first...rows.last {
        let weight = rows.weight(of: row)
        if isOpaque {
          Self.addOpaque(part(of: row, piece), weight: weight, to: sums)
        } else {
          Self.add(part(of: row, piece), weight: weight, to: sums)
        }
      }
      while index < columns.count, columns[index].first < piece.upperBound {
        sum += self.sum(of: columns[index], in: UnsafeRawBufferPointer(sums), piece)
        // The next piece has the rest of a new pixel.
        guard columns[index].last < piece.upperBound else { break }
        write(sum, scale: isOpaque ? 255 : 1, to: line, at: index)
        sum = .zero
        index += 1
      }
    }
  }

  /// Adds a source row to the sums of its columns: colors times alpha times weight, and alpha times weight.
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

  /// Returns the sum of those columns of a new pixel that are in a piece.
  private func sum(of column: Span, in sums: UnsafeRawBufferPointer, _ piece: Range<Int>) -> SIMD4<Float> {
    func source(_ x: Int) -> SIMD4<Float> {
      sums.loadUnaligned(fromByteOffset: (x &- piece.lowerBound) &* 16, as: SIMD4<Float>.self)
    }
    var sum = column.first >= piece.lowerBound ? source(column.first) * column.firstWeight : .zero
    guard column.last > column.first else { return sum }
    for x in max(column.first + 1, piece.lowerBound)..<min(column.last, piece.upperBound) { sum += source(x) }
    if column.last < piece.upperBound { sum += source(column.last) * column.lastWeight }
    return sum
  }

  /// Writes a new pixel: the color divided by its total weight, the alpha by the area covered.
  private func write(_ sum: SIMD4<Float>, scale: Float, to line: UnsafeMutableRawBufferPointer, at index: Int) {
    guard sum.w > 0 else { return }
    var color = sum * (scale / sum.w)
    color.w = sum.w / area
    line.storeBytes(of: rounded(color), toByteOffset: index &* Bitmap.bytesPerPixel, as: SIMD4<UInt8>.self)
  }

  /// Rounds to the nearest bytes, and clamps, because sums of floats may be slightly above 255.
  ///
  /// A float of 2²³ or more is a whole number, with its ones in the lowest bits: the addition rounds.
  private func rounded(_ color: SIMD4<Float>) -> SIMD4<UInt8> {
    let rounded = color.replacing(with: 255, where: color .> 255) + 8_388_608
    return SIMD4(truncatingIfNeeded: unsafeBitCast(rounded, to: SIMD4<UInt32>.self))
  }
}
