/// A file of one format whose head has been read: what a format must offer to be decoded.
protocol ImageFile {
  /// Which format it is.
  var format: ImageFormat { get }
  /// The size as stored: at least one pixel each way, sides of 31 bits at most.
  var size: PixelSize { get }
  /// How the stored pixels are to be turned; ``ImageOrientation/up`` if the file does not say.
  var orientation: ImageOrientation { get }

  /// Reads the head. It may be all that is there.
  init(_ bytes: Bytes) throws(ImageError)

  /// Decodes all, as stored, at any size from `target` (which is not larger than ``size``) up to ``size``: as near to
  /// `target` as the codec can scale on its way.
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap
}
