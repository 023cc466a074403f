/// Draws bitmaps in a terminal with 24-bit colors: two pixels in a character, the upper one as the color of `▀`, the
/// lower one as its background.
///
/// ```swift
/// let bitmap = try ImageDecoder.decode(data, options: .init(fitting: PixelSize(width: 80, height: 48)))
/// for line in HalfBlocks.lines(of: bitmap, columns: 80, rows: 24) { print(line) }
/// ```
///
/// Nothing is scaled: decode to a size with as many pixels as the terminal has columns, and twice as many as it has
/// rows. Transparent pixels are blended with black. Each line begins and ends with the terminal's own colors.
public enum HalfBlocks {
  /// Returns the lines of a bitmap, cropped to a size in characters, evenly on both sides.
  ///
  /// - Returns: at most `rows` lines without line feeds, of at most `columns` characters each; none for an empty size.
  public static func lines(of bitmap: Bitmap, columns: Int, rows: Int) -> [String] {
    // Twice the number of rows may overflow.
    let height = rows < bitmap.size.height ? min(bitmap.size.height, 2 * max(rows, 0)) : bitmap.size.height
    return lines(of: bitmap, size: PixelSize(width: min(bitmap.size.width, columns), height: height))
  }

  private static func lines(of bitmap: Bitmap, size: PixelSize) -> [String] {
    let (width, height) = (size.width, size.height)
    guard width > 0, height > 0 else { return [] }
    let left = (bitmap.size.width - width) / 2, top = (bitmap.size.height - height) / 2
    return stride(from: top, to: top + height, by: 2).map { y in
      line(of: bitmap, left..<left + width, upper: y, lower: y + 1 < top + height ? y + 1 : nil)
    }
  }

  /// The maximum number of columns beside a bitmap: more than a terminal has.
  private static let columnLimit = 1 << 16

  /// Returns the lines of a bitmap centred in a box of pixels, each as wide as the box; parts outside are cropped.
  /// Beside the bitmap there are at most 65,536 columns.
  public static func lines(of bitmap: Bitmap, in box: PixelSize) -> [String] {
    let size = PixelSize(width: min(bitmap.size.width, box.width), height: min(bitmap.size.height, box.height))
    let margin = min(box.width - size.width, columnLimit)
    let (left, right) = (String(repeating: " ", count: margin / 2), String(repeating: " ", count: margin - margin / 2))
    return lines(of: bitmap, size: size).map { left + $0 + right }
  }

  private static func line(of bitmap: Bitmap, _ columns: Range<Int>, upper: Int, lower: Int?) -> String {
    var text = ""
    text.reserveCapacity(columns.count * 24)
    var last: (upper: Color, lower: Color?)?
    for x in columns {
      let above = color(of: bitmap, x, upper)
      let below = lower.map { color(of: bitmap, x, $0) }
      if last?.upper != above { text += "\u{1B}[38;2;\(above.code)m" }
      if last == nil || last?.lower != below { text += below.map { "\u{1B}[48;2;\($0.code)m" } ?? "\u{1B}[49m" }
      last = (above, below)
      text += "▀"
    }
    return text + "\u{1B}[0m"
  }

  private struct Color: Equatable {
    let red, green, blue: UInt8
    var code: String { "\(red);\(green);\(blue)" }
  }

  private static func color(of bitmap: Bitmap, _ x: Int, _ y: Int) -> Color {
    let start = y * bitmap.bytesPerRow + x * Bitmap.bytesPerPixel
    let alpha = Int(bitmap.pixels[start + 3])
    func blended(_ value: UInt8) -> UInt8 { UInt8((Int(value) * alpha + 127) / 255) }
    return Color(
      red: blended(bitmap.pixels[start]), green: blended(bitmap.pixels[start + 1]),
      blue: blended(bitmap.pixels[start + 2]))
  }
}
