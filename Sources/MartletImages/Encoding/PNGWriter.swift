import CPNG

/// libpng's encoder: its "simplified" API, which keeps errors to itself. Without alpha, if all is opaque.
enum PNGWriter {
  static func data(_ bitmap: Bitmap) -> Data? {
    let isOpaque = bitmap.isOpaque
    let pixels = isOpaque ? withoutAlpha(bitmap.pixels) : bitmap.pixels
    var count = 0
    let buffer = martlet_png_write(
      pixels, png_uint_32(bitmap.size.width), png_uint_32(bitmap.size.height), isOpaque ? 0 : 1, &count)
    return buffer.map { Data(bytesNoCopy: $0, count: count, deallocator: .free) }
  }

  private static func withoutAlpha(_ pixels: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: pixels.count / 4 * 3) { target, count in
      for start in stride(from: 0, to: pixels.count, by: Bitmap.bytesPerPixel) {
        for channel in start..<start + 3 {
          target.initializeElement(at: count, to: pixels[channel])
          count += 1
        }
      }
    }
  }
}
