/// How stored pixels must be turned to be upright: the values of EXIF's tag 0x0112 (EXIF 2.32 §4.6.5.1, TIFF 6.0).
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
  /// Upright as stored.
  case up = 1
  /// Stored mirrored left to right.
  case upMirrored = 2
  /// Stored upside down: turn by 180°.
  case down = 3
  /// Stored mirrored top to bottom.
  case downMirrored = 4
  /// Stored with rows and columns exchanged.
  case leftMirrored = 5
  /// Stored lying on its left side: turn by 90° clockwise.
  case right = 6
  /// Stored with rows and columns exchanged, upside down.
  case rightMirrored = 7
  /// Stored lying on its right side: turn by 90° counterclockwise.
  case left = 8
}

extension ImageOrientation {
  /// Whether width and height change places.
  var exchangesSides: Bool { rawValue >= 5 }

  /// The size after turning.
  func upright(_ stored: PixelSize) -> PixelSize { exchangesSides ? stored.transposed : stored }

  /// The picture turned upright.
  func upright(_ stored: Bitmap) -> Bitmap {
    guard self != .up else { return stored }
    let size = upright(stored.size)
    let walk = self.walk(over: stored.size)
    var pixels = [UInt8](repeating: 0, count: stored.pixels.count)
    pixels.withUnsafeMutableBytes { target in
      stored.pixels.withUnsafeBytes { source in
        for y in 0..<size.height {
          var from = (walk.start + y * walk.down) * Bitmap.bytesPerPixel
          var to = y * size.width * Bitmap.bytesPerPixel
          for _ in 0..<size.width {
            let pixel = source.loadUnaligned(fromByteOffset: from, as: UInt32.self)
            target.storeBytes(of: pixel, toByteOffset: to, as: UInt32.self)
            from += walk.right * Bitmap.bytesPerPixel
            to += Bitmap.bytesPerPixel
          }
        }
      }
    }
    return Bitmap(size: size, pixels: pixels)
  }

  /// Where, counted in stored pixels, the upright picture begins, and how far a step right and a step down lead.
  private func walk(over stored: PixelSize) -> (start: Int, right: Int, down: Int) {
    let width = stored.width
    let last = stored.width * stored.height - 1
    return switch self {
    case .up: (0, 1, width)
    case .upMirrored: (width - 1, -1, width)
    case .down: (last, -1, -width)
    case .downMirrored: (last - width + 1, 1, -width)
    case .leftMirrored: (0, width, 1)
    case .right: (last - width + 1, -width, 1)
    case .rightMirrored: (last, -width, -1)
    case .left: (width - 1, width, -1)
    }
  }
}
