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

  /// The size as people write it: `640×480`.
  public var description: String { "\(width)×\(height)" }
}

extension PixelSize {
  /// Width and height exchanged.
  var transposed: PixelSize { PixelSize(width: height, height: width) }

  /// The number of pixels; nil if it does not fit an `Int`, or if a side is negative.
  var area: Int? {
    guard width >= 0, height >= 0 else { return nil }
    let (area, overflow) = width.multipliedReportingOverflow(by: height)
    return overflow ? nil : area
  }

  /// The bytes of an RGBA bitmap of this size; nil if they do not fit an `Int`.
  var byteCount: Int? {
    guard let area else { return nil }
    let (bytes, overflow) = area.multipliedReportingOverflow(by: Bitmap.bytesPerPixel)
    return overflow ? nil : bytes
  }

  /// The largest size of the same proportions inside `box`, never larger than this one, at least one pixel each way.
  ///
  /// Both sizes' sides have 31 bits at most (all formats see to that), so that the products cannot overflow.
  func fitted(into box: PixelSize) -> PixelSize {
    let room = PixelSize(width: min(max(box.width, 1), width), height: min(max(box.height, 1), height))
    if room.width * height <= room.height * width {
      return PixelSize(width: room.width, height: max(1, (height * room.width + width / 2) / width))
    }
    return PixelSize(width: max(1, (width * room.height + height / 2) / height), height: room.height)
  }
}
