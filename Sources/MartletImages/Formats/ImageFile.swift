/// A file of one format whose head has been read: what a format must offer to be decoded.
protocol ImageFile {
  /// Which format it is.
  var format: ImageFormat { get }
  /// The size as stored: at least one pixel each way, sides of 31 bits at most.
  var size: PixelSize { get }
  /// How the stored pixels are to be turned; ``ImageOrientation/up`` if the file does not say.
  var orientation: ImageOrientation { get }
  /// The embedded ICC profile that ``decode(noSmallerThan:limits:)`` leaves to be applied; nil for sRGB.
  var colorProfile: [UInt8]? { get }
  /// Whether the file holds greys alone, so that a profile for greys fits.
  var isGrey: Bool { get }

  /// Reads the head. It may be all that is there.
  init(_ bytes: Bytes) throws(ImageError)

  /// Decodes all, as stored, at any size from `target` (which is not larger than ``size``) up to ``size``: as near to
  /// `target` as the codec can scale on its way.
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap

  /// Composes all frames at full size, one after another, until `body` returns false; a still picture has one.
  ///
  /// - Returns: How often the animation is to be played, nil for ever.
  func eachFrame(
    limits: ImageDecoder.Limits, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int?
}

extension ImageFile {
  var colorProfile: [UInt8]? { nil }
  var isGrey: Bool { false }

  func eachFrame(
    limits: ImageDecoder.Limits, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    _ = try body(ImageAnimation.Frame(bitmap: decode(noSmallerThan: size, limits: limits), duration: .zero))
    return 1
  }
}
