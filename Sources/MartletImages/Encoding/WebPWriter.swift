import CWebP

/// libwebp's encoder.
enum WebPWriter {
  /// - Parameter quality: 0 to 100; nil to lose nothing.
  static func data(_ bitmap: Bitmap, quality: Int?) -> Data? {
    let (width, height, stride) = (Int32(bitmap.size.width), Int32(bitmap.size.height), Int32(bitmap.bytesPerRow))
    var buffer: UnsafeMutablePointer<UInt8>?
    let count =
      if let quality {
        WebPEncodeRGBA(bitmap.pixels, width, height, stride, Float(quality), &buffer)
      } else {
        WebPEncodeLosslessRGBA(bitmap.pixels, width, height, stride, &buffer)
      }
    guard count > 0, let buffer else {
      WebPFree(buffer)
      return nil
    }
    return Data(bytesNoCopy: buffer, count: count, deallocator: .custom { pointer, _ in WebPFree(pointer) })
  }
}
