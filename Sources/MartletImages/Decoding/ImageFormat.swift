/// The formats that ``ImageDecoder`` decodes.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable {
  /// JPEG: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK, 8 bits a channel.
  case jpeg = "JPEG"
  /// PNG: all colour types and depths, interlaced or not; of an animated one the default image.
  case png = "PNG"
  /// WebP: lossy and lossless, with and without alpha; of an animated one the first frame.
  case webp = "WebP"
}
