import CPNG
import CTurboJPEG
import CWebP
@_spi(Toolkit) import MartletEngine

/// Encodes bitmaps as JPEG, PNG or WebP files.
///
/// ```swift
/// let data = try ImageEncoder.encode(bitmap, as: .jpeg(quality: 90))
/// try ImageEncoder.write(bitmap, to: url, as: .png)
/// ```
///
/// A ``Bitmap`` is upright and in sRGB, and so is the file: it needs no orientation and no profile. Encoding takes 10
/// to 500 ms of CPU time per megapixel: do not call it on the main actor.
public enum ImageEncoder {
  /// Encodes an image as the bytes of a file.
  ///
  /// - Throws: ``ImageError`` of the kind `notEncodable`: the image has no pixels, or a side that is too long for the
  ///   format, or there is not enough memory.
  public static func encode(_ bitmap: Bitmap, as encoding: ImageEncoding) throws(ImageError) -> Data {
    let longest = max(bitmap.size.width, bitmap.size.height)
    guard !bitmap.pixels.isEmpty, longest <= encoding.sideLimit else {
      throw ImageError(
        .notEncodable,
        "a \(encoding.format) has sides of 1 to \(encoding.sideLimit) pixels, not \(bitmap.size): "
          + "scale the image (ImageProcessors.Resize), or choose another format")
    }
    let data =
      switch encoding {
      case .jpeg(let quality, let isProgressive, let background):
        bitmap.encodedAsJPEG(quality: quality, isProgressive: isProgressive, background: background)
      case .png: bitmap.encodedAsPNG()
      case .webP(let quality): bitmap.encodedAsWebP(quality: min(max(quality, 0), 100))
      case .losslessWebP: bitmap.encodedAsWebP(quality: nil)
      }
    guard let data else {
      throw ImageError(.notEncodable, "there is no memory to make a \(encoding.format) of \(bitmap.size) pixels")
    }
    return data
  }

  /// Encodes an image and writes the file, which appears when it is complete. A replaced file passes on its
  /// permissions, as for downloads; a device or a pipe is not replaced.
  ///
  /// - Throws: ``ImageError`` as ``encode(_:as:)``, or `HTTPError` of the kind `file` if the file cannot be written.
  public static func write(_ bitmap: Bitmap, to url: URL, as encoding: ImageEncoding) throws {
    let data = try encode(bitmap, as: encoding)
    let file = try PartialFile(for: url, phase: nil)
    try file.append(data)
    try file.complete()
  }
}

/// The format and quality in which ``ImageEncoder`` encodes an image.
@nonexhaustive public enum ImageEncoding: Sendable, Hashable {
  /// JPEG: lossy, without alpha; transparent parts show `background`. `quality` is 1 to 100, as in libjpeg; below 90
  /// the color channels have half the resolution. Sides up to 65500 pixels.
  case jpeg(quality: Int = 85, isProgressive: Bool = false, background: PixelColor = .white)
  /// PNG: lossless, with alpha unless all pixels are opaque. Sides up to 1000000 pixels.
  case png
  /// Lossy WebP, with alpha. `quality` is 0 to 100, as in libwebp. Sides up to 16383 pixels.
  case webP(quality: Int = 80)
  /// Lossless WebP, except for the colors of transparent pixels. Sides up to 16383 pixels.
  case losslessWebP

  /// The format of the file.
  public var format: ImageFormat {
    switch self {
    case .jpeg: .jpeg
    case .png: .png
    case .webP, .losslessWebP: .webp
    }
  }

  /// The maximum side in pixels: of JPEG by libjpeg, of PNG by libpng's default, of WebP by the format.
  fileprivate var sideLimit: Int {
    switch self {
    case .jpeg: 65_500
    case .png: 1_000_000
    case .webP, .losslessWebP: 16_383
    }
  }
}

extension Bitmap {
  /// Encodes by libjpeg-turbo; nil if there is not enough memory.
  fileprivate func encodedAsJPEG(quality: Int, isProgressive: Bool, background: PixelColor) -> Data? {
    guard let compressor = tjInitCompress() else { return nil }
    defer { tjDestroy(compressor) }
    let opaque = isOpaque ? pixels : composited(over: background)
    var buffer: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    let sampling = quality < 90 ? TJSAMP_420 : TJSAMP_444
    let status = tjCompress2(
      compressor, opaque, Int32(size.width), Int32(bytesPerRow), Int32(size.height), Int32(TJPF_RGBX.rawValue), &buffer,
      &count, Int32(sampling.rawValue), Int32(min(max(quality, 1), 100)), isProgressive ? TJFLAG_PROGRESSIVE : 0)
    guard status == 0, let buffer else {
      tjFree(buffer)
      return nil
    }
    return Data(bytesNoCopy: buffer, count: Int(count), deallocator: .custom { pointer, _ in tjFree(pointer) })
  }

  /// Returns the pixels composited over a background color.
  private func composited(over background: PixelColor) -> [UInt8] {
    var result = pixels
    let under = [Int(background.red), Int(background.green), Int(background.blue)]
    result.withUnsafeMutableBufferPointer { pixels in
      for start in stride(from: 0, to: pixels.count, by: Bitmap.bytesPerPixel) {
        let alpha = Int(pixels[start + 3])
        for channel in 0..<3 {
          pixels[start + channel] = UInt8(
            (Int(pixels[start + channel]) * alpha + under[channel] * (255 - alpha) + 127) / 255)
        }
      }
    }
    return result
  }

  /// Encodes by libpng's simplified API, without alpha if all pixels are opaque; nil if there is not enough memory.
  fileprivate func encodedAsPNG() -> Data? {
    let isOpaque = isOpaque
    let samples = isOpaque ? pixelsWithoutAlpha() : pixels
    var count = 0
    let buffer = martlet_png_write(
      samples, png_uint_32(size.width), png_uint_32(size.height), isOpaque ? 0 : 1, &count)
    return buffer.map { Data(bytesNoCopy: $0, count: count, deallocator: .free) }
  }

  private func pixelsWithoutAlpha() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: pixels.count / 4 * 3) { target, count in
      for start in stride(from: 0, to: pixels.count, by: Bitmap.bytesPerPixel) {
        for channel in start..<start + 3 {
          target.initializeElement(at: count, to: pixels[channel])
          count += 1
        }
      }
    }
  }

  /// Encodes by libwebp, with a quality of 0 to 100, or losslessly if that is nil; nil if there is not enough memory.
  fileprivate func encodedAsWebP(quality: Int?) -> Data? {
    let (width, height, stride) = (Int32(size.width), Int32(size.height), Int32(bytesPerRow))
    var buffer: UnsafeMutablePointer<UInt8>?
    let count =
      if let quality {
        WebPEncodeRGBA(pixels, width, height, stride, Float(quality), &buffer)
      } else {
        WebPEncodeLosslessRGBA(pixels, width, height, stride, &buffer)
      }
    guard count > 0, let buffer else {
      WebPFree(buffer)
      return nil
    }
    return Data(bytesNoCopy: buffer, count: count, deallocator: .custom { pointer, _ in WebPFree(pointer) })
  }
}
