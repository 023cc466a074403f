/// Makes files of pictures.
///
/// ```swift
/// let data = try ImageEncoder.encode(bitmap, as: .jpeg(quality: 90))
/// try ImageEncoder.write(bitmap, to: url, as: .png)
/// ```
///
/// A ``Bitmap`` is upright and sRGB, and so is the file: it has no orientation and no profile, which means just that. This
/// is work for the processor (10 to 500 ms a megapixel): do not call it on the main actor.
public enum ImageEncoder {
  /// Makes the bytes of a file.
  ///
  /// - Throws: ``ImageError`` of the kind `notEncodable`: a picture without pixels, with a side that is too long for the
  ///   format, or too large for the memory.
  public static func encode(_ bitmap: Bitmap, as encoding: ImageEncoding) throws(ImageError) -> Data {
    let longest = max(bitmap.size.width, bitmap.size.height)
    guard !bitmap.pixels.isEmpty, longest <= encoding.sideLimit else {
      throw ImageError(
        .notEncodable,
        "a \(encoding.format) has sides of 1 to \(encoding.sideLimit) pixels, not \(bitmap.size): "
          + "scale the picture (ImageProcessors.Resize), or choose another format")
    }
    let data =
      switch encoding {
      case .jpeg(let quality, let isProgressive, let background):
        JPEGWriter.data(bitmap, quality: quality, isProgressive: isProgressive, background: background)
      case .png: PNGWriter.data(bitmap)
      case .webP(let quality): WebPWriter.data(bitmap, quality: min(max(quality, 0), 100))
      case .losslessWebP: WebPWriter.data(bitmap, quality: nil)
      }
    guard let data else {
      throw ImageError(.notEncodable, "there is no memory to make a \(encoding.format) of \(bitmap.size) pixels")
    }
    return data
  }

  /// Encodes the picture and writes the file beside its place, then renames it: nobody sees half a file.
  ///
  /// - Throws: ``ImageError`` as ``encode(_:as:)``, or the error of Foundation for a file that cannot be written.
  public static func write(_ bitmap: Bitmap, to url: URL, as encoding: ImageEncoding) throws {
    try encode(bitmap, as: encoding).write(to: url, options: .atomic)
  }
}

extension ImageEncoding {
  /// The longest side of each format: of JPEG by libjpeg, of PNG by libpng's default, of WebP by its format.
  fileprivate var sideLimit: Int {
    switch self {
    case .jpeg: 65_500
    case .png: 1_000_000
    case .webP, .losslessWebP: 16_383
    }
  }
}

extension Bitmap {
  /// Whether no pixel lets anything through.
  var isOpaque: Bool {
    // Row by row, all pixels of one together: that is fast, and a transparent picture shows it soon.
    pixels.withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: bytesPerRow).allSatisfy { start in
        var together = UInt32.max
        for x in 0..<size.width {
          together &= bytes.loadUnaligned(fromByteOffset: start &+ x &* Bitmap.bytesPerPixel, as: UInt32.self)
        }
        return UInt32(littleEndian: together) >> 24 == 255
      }
    }
  }
}
