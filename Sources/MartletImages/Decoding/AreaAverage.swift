/// Shrinks a picture: each new pixel is the average of the area that it covers, fractions of pixels included.
///
/// Colours weigh as much as they are opaque, so that the colour of invisible pixels does not seep in. The average is
/// taken of the sRGB values, as browsers and image viewers do.
struct AreaAverage {
  private let columns: [Span]
  private let rows: [Span]
  /// How many stored pixels a new one covers.
  private let area: Float

  /// The stored pixels first…last that a new one covers along one axis; all but the outer two count fully.
  private struct Span {
    var first: Int
    var last: Int
    var firstWeight: Float
    var lastWeight: Float

    func weight(of index: Int) -> Float { index == first ? firstWeight : index == last ? lastWeight : 1 }

    /// The spans of `target` new pixels over `source` stored ones, `target` ≤ `source`.
    static func spans(from source: Int, to target: Int) -> [Span] {
      (0..<target).map { index in
        // In units of 1/target stored pixels, all of this is exact.
        let start = index * source
        let end = start + source
        let first = start / target
        let last = (end - 1) / target
        // As no picture is enlarged, a span is at least one pixel long: first == last only if it covers that whole.
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

  /// The picture at `target`, which must not be larger than it in either direction; itself if that is its size.
  static func shrink(_ bitmap: Bitmap, to target: PixelSize) -> Bitmap {
    guard bitmap.size != target else { return bitmap }
    let average = AreaAverage(from: bitmap.size, to: target)
    var pixels = [UInt8](repeating: 0, count: target.width * target.height * Bitmap.bytesPerPixel)
    var sums = [SIMD4<Float>](repeating: .zero, count: bitmap.size.width)
    pixels.withUnsafeMutableBufferPointer { output in
      bitmap.pixels.withUnsafeBytes { input in
        for (y, row) in average.rows.enumerated() {
          sums.withUnsafeMutableBufferPointer { sums in
            sums.update(repeating: .zero)
            for source in row.first...row.last {
              let line = input[(source * bitmap.bytesPerRow)...].prefix(bitmap.bytesPerRow)
              add(UnsafeRawBufferPointer(rebasing: line), weight: row.weight(of: source), to: sums)
            }
            let bytesPerRow = target.width * Bitmap.bytesPerPixel
            let line = output[(y * bytesPerRow)...].prefix(bytesPerRow)
            average.write(UnsafeBufferPointer(sums), to: UnsafeMutableBufferPointer(rebasing: line))
          }
        }
      }
    }
    return Bitmap(size: target, pixels: pixels)
  }

  /// Adds a stored row to the sums of its columns: colours times alpha times weight, and alpha times weight.
  private static func add(
    _ line: UnsafeRawBufferPointer, weight: Float, to sums: UnsafeMutableBufferPointer<SIMD4<Float>>
  ) {
    for x in sums.indices {
      let stored = line.loadUnaligned(fromByteOffset: x &* Bitmap.bytesPerPixel, as: SIMD4<UInt8>.self)
      var pixel = SIMD4<Float>(stored)
      let alpha = pixel.w * weight
      pixel.w = 1
      sums[x] += pixel * alpha
    }
  }

  /// Writes a new row: colours divided by the alpha that they were weighed with, alpha by the area covered.
  private func write(_ sums: UnsafeBufferPointer<SIMD4<Float>>, to line: UnsafeMutableBufferPointer<UInt8>) {
    for (index, column) in columns.enumerated() {
      var sum = sums[column.first] * column.firstWeight
      if column.last > column.first {
        for x in column.first + 1..<column.last { sum += sums[x] }
        sum += sums[column.last] * column.lastWeight
      }
      guard sum.w > 0 else { continue }
      let at = index * Bitmap.bytesPerPixel
      let color = sum / sum.w
      line[at] = rounded(color.x)
      line[at + 1] = rounded(color.y)
      line[at + 2] = rounded(color.z)
      line[at + 3] = rounded(sum.w / area)
    }
  }

  /// The nearest byte; sums of floats may overshoot by a hair.
  private func rounded(_ value: Float) -> UInt8 { UInt8(min(max(value + 0.5, 0), 255)) }
}
