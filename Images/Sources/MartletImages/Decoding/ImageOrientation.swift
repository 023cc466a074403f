/// How stored pixels must be rotated or mirrored to be upright: the values of EXIF's tag 0x0112 (EXIF 2.32 §4.6.5.1,
/// TIFF 6.0).
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
  /// Upright as stored.
  case up = 1
  /// Stored mirrored left to right.
  case upMirrored = 2
  /// Stored upside down: rotate by 180°.
  case down = 3
  /// Stored mirrored top to bottom.
  case downMirrored = 4
  /// Stored with rows and columns exchanged.
  case leftMirrored = 5
  /// Stored rotated by 90° counterclockwise: rotate by 90° clockwise.
  case right = 6
  /// Stored with rows and columns exchanged, upside down.
  case rightMirrored = 7
  /// Stored rotated by 90° clockwise: rotate by 90° counterclockwise.
  case left = 8
}

extension ImageOrientation {
  /// Whether the upright image's width is the stored height.
  var callsSides: Bool { rawValue >= 5 }

  /// Returns the size of the upright image.
  func upright(_ stored: PixelSize) -> PixelSize { callsSides ? stored.transposed : stored }

  /// Returns the upright image.
  func upright(_ stored: Bitmap) -> Bitmap {
    guard self != .up else { return stored }
    let size = upright(stored.size)
    let order = sourceOrder(stored.size)
    var pixels = [UInt8](repeating: 0, count: stored.pixels.count)
    pixels.withUnsafeMutableBytes { target in
      stored.pixels.withUnsafeBytes { source in
        for y in 0..<size.height {
          var from = (order.start + y * order.down) * Bitmap.bytesPerPixel
          var to = y * size.width * Bitmap.bytesPerPixel
          for _ in 0..<size.width {
            let pixel = source.loadUnaligned(fromByteOffset: from, as: UInt32.self)
            target.storeBytes(of: pixel, toByteOffset: to, as: UInt32.self)
            from += order.right * Bitmap.bytesPerPixel
            to += Bitmap.bytesPerPixel
          }
        }
      }
    }
    return Bitmap(size: size, pixels: pixels)
  }

  /// Returns the index of the stored pixel that is the upright image's first, and the offsets of those right of it and
  /// below it.
  private func sourceOrder(_ stored: PixelSize) -> (start: Int, right: Int, down: Int) {
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

extension ImageOrientation {
  /// Reads the orientation from an EXIF block: the tag 0x0112 in the first directory of a TIFF structure (TIFF 6.0 §2).
  ///
  /// A malformed block (no such tag, another type, a value above 8, offsets outside the block) means ``up``: an image
  /// is not refused for its metadata. Only the first directory is read, so a cyclic chain of directories does no harm.
  init(exif block: Bytes) {
    let tiff = block.has("Exif\0\0") ? block.slice(from: 6, count: block.count - 6) : block
    self = tiff.flatMap(ImageOrientation.init(tiff:)) ?? .up
  }

  private init?(tiff: Bytes) {
    let order: Bytes.Order
    if tiff.has("II*\0") {
      order = .little
    } else if tiff.has([0x4D, 0x4D, 0, 42]) {
      order = .big
    } else {
      return nil
    }
    guard let directory = tiff.number(at: 4, bytes: 4, order),
      let entries = tiff.number(at: directory, bytes: 2, order)
    else { return nil }
    for index in 0..<entries {
      let entry = directory + 2 + index * 12
      guard let tag = tiff.number(at: entry, bytes: 2, order) else { return nil }
      guard tag == 0x0112 else { continue }
      let short = 3
      guard tiff.number(at: entry + 2, bytes: 2, order) == short,
        let value = tiff.number(at: entry + 8, bytes: 2, order)
      else { return nil }
      self.init(rawValue: value)
      return
    }
    return nil
  }
}
