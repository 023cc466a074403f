/// What the head of a picture's file tells without decoding it.
public struct ImageInfo: Sendable, Hashable {
  /// The format, by content.
  public var format: ImageFormat
  /// The size that the decoded picture has without `fitting`: after ``orientation`` is applied.
  public var size: PixelSize
  /// How the stored pixels are to be turned (EXIF); ``ImageDecoder/decode(_:options:)`` has done it already.
  public var orientation: ImageOrientation
}
