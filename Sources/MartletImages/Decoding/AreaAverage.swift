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
    let isOpaque = bitmap.isOpaque
    var pixels = [UInt8](repeating: 0, count: target.width * target.height * Bitmap.bytesPerPixel)
    // Of each stored column the four sums.
    var sums = [Float](repeating: 0, count: bitmap.bytesPerRow)
    pixels.withUnsafeMutableBufferPointer { output in
      bitmap.pixels.withUnsafeBytes { input in
        for (y, row) in average.rows.enumerated() {
          sums.withUnsafeMutableBufferPointer { sums in
            sums.update(repeating: 0)
            for source in row.first...row.last {
              let line = UnsafeRawBufferPointer(
                rebasing: input[(source * bitmap.bytesPerRow)...].prefix(bitmap.bytesPerRow))
              let weight = row.weight(of: source)
              if isOpaque { addOpaque(line, weight: weight, to: sums) } else { add(line, weight: weight, to: sums) }
            }
            let bytesPerRow = target.width * Bitmap.bytesPerPixel
            let line = output[(y * bytesPerRow)...].prefix(bytesPerRow)
            average.write(
              UnsafeRawBufferPointer(sums), scale: isOpaque ? 255 : 1, to: UnsafeMutableBufferPointer(rebasing: line))
          }
        }
      }
    }
    return Bitmap(size: target, pixels: pixels)
  }

  /// Adds a stored row to the sums of its columns: colours times alpha times weight, and alpha times weight.
  private static func add(_ line: UnsafeRawBufferPointer, weight: Float, to sums: UnsafeMutableBufferPointer<Float>) {
    for at in stride(from: 0, to: line.count, by: Bitmap.bytesPerPixel) {
      let alpha = Float(line[at + 3]) * weight
      for channel in at..<at + 3 { sums[channel] += Float(line[channel]) * alpha }
      sums[at + 3] += alpha
    }
  }

  /// The same without the alpha, which is the same for all: a loop over plain numbers, which the compiler makes fast.
  private static func addOpaque(
    _ line: UnsafeRawBufferPointer, weight: Float, to sums: UnsafeMutableBufferPointer<Float>
  ) {
    for index in 0..<line.count { sums[index] += Float(line[index]) * weight }
  }

  /// Writes a new row: colours divided by the alpha that they were weighed with, alpha by the area covered.
  private func write(
    _ sums: UnsafeRawBufferPointer, scale: Float, to line: UnsafeMutableBufferPointer<UInt8>
  ) {
    func stored(_ x: Int) -> SIMD4<Float> { sums.loadUnaligned(fromByteOffset: x &* 16, as: SIMD4<Float>.self) }
    for (index, column) in columns.enumerated() {
      var sum = stored(column.first) * column.firstWeight
      if column.last > column.first {
        for x in column.first + 1..<column.last { sum += stored(x) }
        sum += stored(column.last) * column.lastWeight
      }
      guard sum.w > 0 else { continue }
      let at = index * Bitmap.bytesPerPixel
      let color = sum * (scale / sum.w)
      line[at] = rounded(color.x)
      line[at + 1] = rounded(color.y)
      line[at + 2] = rounded(color.z)
      line[at + 3] = rounded(sum.w / area)
    }
  }

  /// The nearest byte; sums of floats may overshoot by a hair.
  private func rounded(_ value: Float) -> UInt8 { UInt8(min(max(value + 0.5, 0), 255)) }
}
