/// As what ``ImageEncoder`` writes a picture.
public enum ImageEncoding: Sendable, Hashable {
  /// JPEG, which loses detail and has no alpha: invisible parts show `background`. `quality` is 1 to 100, as in libjpeg;
  /// below 90 the colours have half the resolution. Sides up to 65500 pixels.
  case jpeg(quality: Int = 85, isProgressive: Bool = false, background: PixelColor = .white)
  /// PNG, which loses nothing. Sides up to 1000000 pixels.
  case png
  /// WebP that loses detail, with alpha. `quality` is 0 to 100, as in libwebp. Sides up to 16383 pixels.
  case webP(quality: Int = 80)
  /// WebP that loses nothing but the colours of invisible pixels. Sides up to 16383 pixels.
  case losslessWebP

  /// The format of the file.
  public var format: ImageFormat {
    switch self {
    case .jpeg: .jpeg
    case .png: .png
    case .webP, .losslessWebP: .webp
    }
  }
}
