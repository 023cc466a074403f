/// A format of pictures: those that are built in, and those that an ``AdditionalFormat`` adds.
public struct ImageFormat: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The name, such as `JPEG`.
  public let rawValue: String

  /// Names a format, for an ``AdditionalFormat``.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The name.
  public var description: String { rawValue }

  /// JPEG: baseline and progressive, Huffman and arithmetic coding, grey, YCbCr, RGB, CMYK and YCCK, 8 bits a channel.
  public static let jpeg = ImageFormat(rawValue: "JPEG")
  /// PNG: all colour types and depths, interlaced or not; of an animated one the default image.
  public static let png = ImageFormat(rawValue: "PNG")
  /// WebP: lossy and lossless, with and without alpha; of an animated one the first frame, or all of them.
  public static let webp = ImageFormat(rawValue: "WebP")
  /// GIF: 87a and 89a, interlaced or not; the first frame, or all of them.
  public static let gif = ImageFormat(rawValue: "GIF")

  /// Those that are built in.
  public static let builtIn: [ImageFormat] = [.jpeg, .png, .webp, .gif]
}
