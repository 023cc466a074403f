/// Makes pictures of the bytes of JPEG, PNG and WebP files.
///
/// ```swift
/// let whole = try ImageDecoder.decode(data)
/// let small = try ImageDecoder.decode(data, options: .init(fitting: PixelSize(width: 320, height: 320)))
/// let size = try ImageDecoder.info(data).size
/// ```
///
/// The format is recognised by content. EXIF orientation is applied; colour profiles are not: colours are taken for
/// sRGB. Decoding is synchronous work for the processor (4 to 20 ms a megapixel): do not call it on the main actor.
///
/// Bytes may be hostile: sizes are checked before memory is taken, and a file that ends too early, or that contradicts
/// its format, is an error; half a picture is never returned.
public enum ImageDecoder {
  /// Decodes a picture.
  ///
  /// - Parameters:
  ///   - data: The whole file.
  ///   - options: The size to fit the picture into, and the limits.
  /// - Returns: The picture, upright, of ``ImageInfo/size`` or scaled down as the options say; never enlarged.
  /// - Throws: ``ImageError``, of any kind.
  public static func decode(_ data: Data, options: Options = Options()) throws(ImageError) -> Bitmap {
    try reading(data) { file throws(ImageError) in
      let orientation = file.orientation
      try options.limits.admit(stored: file.size)
      var target = file.size
      if let box = options.fitting { target = target.fitted(into: orientation.exchangesSides ? box.transposed : box) }
      let bitmap = try file.decode(noSmallerThan: target, limits: options.limits)
      return orientation.upright(AreaAverage.shrink(bitmap, to: target))
    }
  }

  /// Reads format, size and orientation, without decoding.
  ///
  /// The beginning of a file is enough, as long as the size is in it. The orientation may stand at the end of a PNG
  /// or WebP: where that is missing it is taken for ``ImageOrientation/up``. No limit is applied.
  ///
  /// - Throws: ``ImageError``: `truncated` if the bytes end before the size, or any kind but `tooLarge`.
  public static func info(_ data: Data) throws(ImageError) -> ImageInfo {
    try reading(data) { file throws(ImageError) in
      let orientation = file.orientation
      return ImageInfo(format: file.format, size: orientation.upright(file.size), orientation: orientation)
    }
  }

  /// Lends the file to `body`; the one place where the bytes are borrowed.
  private static func reading<Value>(
    _ data: Data, _ body: (any ImageFile) throws(ImageError) -> Value
  ) throws(ImageError) -> Value {
    let result: Result<Value, ImageError> = data.withUnsafeBytes { buffer in
      Result { () throws(ImageError) in try body(open(Bytes(buffer: buffer))) }
    }
    return try result.get()
  }

  private static func open(_ bytes: Bytes) throws(ImageError) -> any ImageFile {
    switch try ContentSniffer.format(of: bytes) {
    case .jpeg: try JPEGFile(bytes)
    case .png: try PNGFile(bytes)
    case .webp: try WebPFile(bytes)
    }
  }
}
