import CTurboJPEG

/// libjpeg-turbo's encoder.
enum JPEGWriter {
  static func data(_ bitmap: Bitmap, quality: Int, isProgressive: Bool, background: PixelColor) -> Data? {
    guard let compressor = tjInitCompress() else { return nil }
    defer { tjDestroy(compressor) }
    let pixels = bitmap.isOpaque ? bitmap.pixels : flattened(bitmap, on: background)
    var buffer: UnsafeMutablePointer<UInt8>?
    var count: UInt = 0
    let sampling = quality < 90 ? TJSAMP_420 : TJSAMP_444
    let status = tjCompress2(
      compressor, pixels, Int32(bitmap.size.width), Int32(bitmap.bytesPerRow), Int32(bitmap.size.height),
      Int32(TJPF_RGBX.rawValue), &buffer, &count, Int32(sampling.rawValue), Int32(min(max(quality, 1), 100)),
      isProgressive ? TJFLAG_PROGRESSIVE : 0)
    guard status == 0, let buffer else {
      tjFree(buffer)
      return nil
    }
    return Data(bytesNoCopy: buffer, count: Int(count), deallocator: .custom { pointer, _ in tjFree(pointer) })
  }

  /// The pixels over a colour.
  private static func flattened(_ bitmap: Bitmap, on background: PixelColor) -> [UInt8] {
    var pixels = bitmap.pixels
    let under = [Int(background.red), Int(background.green), Int(background.blue)]
    pixels.withUnsafeMutableBufferPointer { pixels in
      for start in stride(from: 0, to: pixels.count, by: Bitmap.bytesPerPixel) {
        let alpha = Int(pixels[start + 3])
        for channel in 0..<3 {
          pixels[start + channel] = UInt8(
            (Int(pixels[start + channel]) * alpha + under[channel] * (255 - alpha) + 127) / 255)
        }
      }
    }
    return pixels
  }
}
