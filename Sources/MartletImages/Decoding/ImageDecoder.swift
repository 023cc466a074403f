/// Makes pictures of the bytes of JPEG, PNG, WebP and GIF files, and of other formats that you add.
///
/// ```swift
/// let whole = try ImageDecoder.decode(data)
/// let small = try ImageDecoder.decode(data, options: .init(fitting: PixelSize(width: 320, height: 320)))
/// let size = try ImageDecoder.info(data).size
/// ```
///
/// The format is recognised by content: names and `Content-Type` play no part. EXIF orientation is applied. Colours
/// come out as sRGB: an embedded ICC profile (Adobe RGB, Display P3, CMYK, grey) is converted, unless it is sRGB's own
/// within two steps of 255, longer than 4 MiB or broken; CMYK without a profile is converted as browsers do. PNG's
/// `gAMA`, `cHRM` and `cICP` are not applied. Decoding is synchronous work for the processor (4 to 20 ms a megapixel):
/// do not call it on the main actor.
///
/// Bytes may be hostile: sizes are checked before memory is taken, and a file that ends too early, or that contradicts
/// its format, is an error; half a picture is never returned.
public enum ImageDecoder {
  /// Decodes a picture; of an animation the first frame.
  ///
  /// - Parameters:
  ///   - data: The whole file.
  ///   - options: The size to fit the picture into, the limits, and formats of your own.
  /// - Returns: The picture, upright, of ``ImageInfo/size`` or scaled down as the options say; never enlarged.
  /// - Throws: ``ImageError``, of any kind.
  public static func decode(_ data: Data, options: Options = Options()) throws(ImageError) -> Bitmap {
    if let addition = options.additionalFormats.first(where: { $0.recognizes(data) }) {
      return options.fit(try addition.run { try addition.decode(data, options) })
    }
    return try reading(data) { file throws(ImageError) in
      try options.limits.admit(stored: file.size)
      let target = options.target(for: file)
      return options.finish(try file.decode(noSmallerThan: target, limits: options.limits), of: file)
    }
  }

  /// Reads format, size and orientation, without decoding.
  ///
  /// The beginning of a file is enough, as long as the size is in it. The orientation may stand at the end of a PNG
  /// or WebP: where that is missing it is taken for ``ImageOrientation/up``. No limit is applied.
  ///
  /// - Throws: ``ImageError``: `truncated` if the bytes end before the size, or any kind but `tooLarge`.
  public static func info(_ data: Data, options: Options = Options()) throws(ImageError) -> ImageInfo {
    if let addition = options.additionalFormats.first(where: { $0.recognizes(data) }) {
      let size = try addition.run { try addition.size(data) }
      return ImageInfo(format: addition.format, size: size, orientation: .up)
    }
    return try reading(data) { file throws(ImageError) in
      let orientation = file.orientation
      return ImageInfo(format: file.format, size: orientation.upright(file.size), orientation: orientation)
    }
  }

  /// Lends the file to `body`; the one place where the bytes are borrowed.
  static func reading<Value>(
    _ data: Data, _ body: (any ImageFile) throws(ImageError) -> Value
  ) throws(ImageError) -> Value {
    let result: Result<Value, ImageError> = data.withUnsafeBytes { buffer in
      Result { () throws(ImageError) in try body(open(Bytes(buffer: buffer))) }
    }
    return try result.get()
  }

  private static func open(_ bytes: Bytes) throws(ImageError) -> any ImageFile {
    switch try ContentSniffer.format(of: bytes) {
    case .png: try PNGFile(bytes)
    case .webp: try WebPFile(bytes)
    case .gif: try GIFFile(bytes)
    default: try JPEGFile(bytes)
    }
  }
}

extension ImageDecoder.Options {
  /// The size, as stored, that the file's picture shall have in the end.
  func target(for file: any ImageFile) -> PixelSize {
    guard let fitting else { return file.size }
    return file.size.fitted(into: file.orientation.exchangesSides ? fitting.transposed : fitting)
  }

  /// What is left to do after a codec: the size, the colours, the turn.
  func finish(_ decoded: Bitmap, of file: any ImageFile) -> Bitmap {
    var bitmap = AreaAverage.shrink(decoded, to: target(for: file))
    if let profile = file.colorProfile {
      ColorConversion.convert(&bitmap.pixels, from: profile, as: file.isGrey ? .grey : .rgba)
    }
    return file.orientation.upright(bitmap)
  }

  /// An upright bitmap scaled down, if it is too large.
  func fit(_ bitmap: Bitmap) -> Bitmap {
    guard let fitting, !bitmap.pixels.isEmpty else { return bitmap }
    return AreaAverage.shrink(bitmap, to: bitmap.size.fitted(into: fitting))
  }
}
