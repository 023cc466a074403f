/// Decodes JPEG, PNG, WebP and GIF files, and other formats that you add, to bitmaps.
///
/// ```swift
/// let whole = try ImageDecoder.decode(data)
/// let small = try ImageDecoder.decode(data, options: .init(fitting: PixelSize(width: 320, height: 320)))
/// let size = try ImageDecoder.info(data).size
/// ```
///
/// The format is recognised by content: file names and `Content-Type` are ignored. EXIF orientation is applied. Colors
/// are sRGB: an embedded ICC profile (Adobe RGB, Display P3, CMYK, grey) is converted, unless it equals sRGB within two
/// steps of 255, is broken, or is refused (``ImageInfo/profileRefusal``). Profiles are refused if they have more than
/// 64 KiB, for CMYK 4 MiB, or multi-process elements (`D2Bx`, `B2Dx`, `mpet`), which browsers do not apply. CMYK
/// without a profile is converted as in browsers. PNG's `gAMA`, `cHRM` and `cICP` are not applied. Decoding is
/// synchronous and takes 4 to 20 ms of CPU time per megapixel: do not call it on the main actor.
///
/// Input may be hostile: sizes are checked before memory is allocated, and so is the number of pixels times the number
/// of passes that a file has over them, so that a small file cannot take minutes. A file that is truncated or
/// contradicts its format is an error; a partial image is only returned if you ask for it (``Options/isTolerant``).
public enum ImageDecoder {
  /// Decodes an image; for an animation, the first frame, or the default image of a PNG.
  ///
  /// - Parameters:
  ///   - data: the whole file.
  ///   - options: the size to fit the image into, the limits, and additional formats.
  /// - Returns: the image, upright, in ``ImageInfo/size`` or scaled down by the options; never enlarged.
  /// - Throws: ``ImageError``, of any kind; of the kind `cancelled` soon after the task is cancelled.
  public static func decode(_ data: Data, options: Options = Options()) throws(ImageError) -> Bitmap {
    try decode(data, options, in: Decoding(options))
  }

  /// Decodes an image as ``decode(_:options:)``, and says what a file lacks that is shown nevertheless.
  ///
  /// - Parameters:
  ///   - data: the whole file.
  ///   - options: as for ``decode(_:options:)``.
  ///   - defect: is set to the error that the file would be without ``Options/isTolerant``; nil for a file without a
  ///     defect.
  /// - Returns: as ``decode(_:options:)``.
  /// - Throws: as ``decode(_:options:)``.
  public static func decode(
    _ data: Data, options: Options, defect: inout ImageError?
  ) throws(ImageError) -> Bitmap {
    let decoding = Decoding(options)
    let bitmap = try decode(data, options, in: decoding)
    defect = decoding.defect
    return bitmap
  }

  /// Decodes an image, or its first frame.
  static func decode(_ data: Data, _ options: Options, in decoding: Decoding) throws(ImageError) -> Bitmap {
    if let addition = options.additionalFormats.first(where: { $0.recognizes(data) }) {
      return options.fit(try addition.bitmap(of: data, options))
    }
    return try withFile(data) { file throws(ImageError) in
      let target = options.target(for: file)
      try options.limits.check(size: file.decodedSize(noSmallerThan: target))
      return try options.finish(try file.decode(noSmallerThan: target, in: decoding), of: file, in: decoding)
    }
  }

  /// Reads format, size and orientation, without decoding.
  ///
  /// The beginning of a file is enough if it contains the size. The orientation may be at the end of a PNG or WebP: if
  /// it is missing, it is reported as ``ImageOrientation/up``. No limit is applied.
  ///
  /// - Throws: ``ImageError``: `truncated` if the bytes end before the size, or any kind but `tooLarge`.
  public static func info(_ data: Data, options: Options = Options()) throws(ImageError) -> ImageInfo {
    if let addition = options.additionalFormats.first(where: { $0.recognizes(data) }) {
      return ImageInfo(format: addition.format, size: try addition.size(of: data), orientation: .up)
    }
    return try withFile(data) { file throws(ImageError) in
      let orientation = file.orientation
      return ImageInfo(
        format: file.format, size: orientation.upright(file.size), orientation: orientation,
        profileRefusal: file.colorProfile?.refusal)
    }
  }

  /// Reads the file's header and calls `body` with it. The file is a view of the data's bytes, valid only within
  /// `body`.
  static func withFile<Value>(
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

/// The header of an image file, read without decoding the pixels.
public struct ImageInfo: Sendable, Hashable {
  /// The format, by content.
  public var format: ImageFormat
  /// The size of the decoded image without `fitting`: after ``orientation`` is applied.
  public var size: PixelSize
  /// The EXIF orientation of the stored pixels. ``ImageDecoder/decode(_:options:)`` applies it.
  public var orientation: ImageOrientation
  /// The reason why the file's color profile is refused, so that its colors are treated as sRGB: it is too long, or
  /// takes too long to apply. nil if it is not refused, or if there is none.
  public var profileRefusal: String?
}

extension ImageDecoder {
  /// How an image is decoded.
  public struct Options: Sendable, Hashable {
    /// The box that the upright image is scaled down to fit into, keeping its proportions; nil, the default, for full
    /// size.
    ///
    /// An image that already fits keeps its size: nothing is enlarged. Sides below 1 count as 1. JPEG and WebP are
    /// scaled while they are decoded, which saves time and memory; PNG, GIF and frames of animations are decoded at
    /// full size and then scaled down.
    public var fitting: PixelSize?
    /// Your own formats, tried in this order before the built-in ones; none by default.
    public var additionalFormats: [AdditionalFormat]
    /// The limits; ``Limits/init(pixels:bytes:animationPixels:)`` has the defaults.
    public var limits: Limits
    /// Whether an incomplete or damaged file is shown as far as it can be decoded, as in browsers; false by default,
    /// which makes it an error.
    ///
    /// Missing pixels are grey in a JPEG, and transparent in other formats. The defect is reported by
    /// ``ImageDecoder/decode(_:options:defect:)``, ``ImageAnimation/defect`` and ``LoadedImage/defect``. A file without
    /// a valid header, or without one complete row of pixels, is an error all the same.
    public var isTolerant = false

    /// Makes options; by default full size, within the default limits.
    public init(
      fitting: PixelSize? = nil, limits: Limits = Limits(), additionalFormats: [AdditionalFormat] = []
    ) {
      self.fitting = fitting
      self.limits = limits
      self.additionalFormats = additionalFormats
    }
  }

  /// Limits that are checked before memory is allocated: a file of a few bytes can declare an image of gigabytes.
  public struct Limits: Sendable, Hashable {
    /// The maximum number of pixels that are decoded. 100 megapixels by default.
    ///
    /// With ``Options/fitting``, a JPEG is decoded at a half, a quarter or an eighth of its sides, and only those
    /// pixels count: photographs of 200 megapixels can be shown at 25. All other formats are decoded at full size.
    public var pixels: Int
    /// The maximum number of pixels that a codec reads, which bounds its time: the pixels that the file declares, times
    /// the number of passes over them. A scan of a part of a JPEG's components is a part of a pass. 1 gigapixel by
    /// default: a photograph of 200 megapixels in one pass, or one of 100 as a progressive JPEG with ten scans.
    public var sourcePixels = 1_000_000_000
    /// The maximum number of bytes that a codec takes in addition to the bitmap, which it announces before it takes
    /// them. 400 MB by default.
    ///
    /// A progressive JPEG takes 3 to 6 bytes per declared pixel, even if it is scaled; a baseline JPEG next to nothing;
    /// a lossless WebP 4 and an animated one 8. Other files have no such needs.
    public var codecBytes = 400_000_000
    /// The maximum number of bytes of one bitmap, 4 a pixel. 400 MB by default.
    ///
    /// With ``Options/fitting``, the bitmap of a JPEG or WebP is that of the reduced size. Two bitmaps can exist at a
    /// time (before and after scaling or rotating); see ``codecBytes`` for what codecs need. All bitmaps of an
    /// ``ImageAnimation`` together count as one, and so do an animated GIF's canvas and the pixels saved to restore it.
    public var bytes: Int
    /// The maximum number of pixels of all frames of an animation together, each counted as the whole image, which
    /// bounds the time. 2 gigapixels by default: a minute of 1024×768 pixels at 40 frames a second.
    public var animationPixels: Int

    /// Makes limits; the properties document the defaults.
    public init(pixels: Int = 100_000_000, bytes: Int = 400_000_000, animationPixels: Int = 2_000_000_000) {
      self.pixels = pixels
      self.bytes = bytes
      self.animationPixels = animationPixels
    }
  }
}

extension ImageDecoder.Limits {
  /// Checks the size at which an image is decoded; see ``pixels``.
  func check(size: PixelSize) throws(ImageError) {
    guard let area = size.area, area <= pixels else {
      throw ImageError(
        .tooLarge, "the image has \(size) pixels, the limit is \(pixels): raise ImageDecoder.Limits.pixels")
    }
  }

  /// Checks the memory that a codec needs for so many bytes of each pixel; see ``codecBytes``.
  func check(codecBytes bytesPerPixel: Int, for size: PixelSize) throws(ImageError) {
    guard let area = size.area, area <= codecBytes / bytesPerPixel else { throw codecNeedsTooMuch }
  }

  /// The error of a codec that needs more memory than ``codecBytes``.
  var codecNeedsTooMuch: ImageError {
    ImageError(
      .tooLarge,
      "the image's codec needs more than \(codecBytes) bytes in addition to the bitmap: that is the limit, raise "
        + "ImageDecoder.Limits.codecBytes")
  }

  /// Checks the pixels of all frames so far; see ``animationPixels``.
  func check(framePixels count: Int) throws(ImageError) {
    guard count <= animationPixels else {
      throw ImageError(
        .tooLarge,
        "the animation's frames have more than \(animationPixels) pixels together, which is the limit: "
          + "raise ImageDecoder.Limits.animationPixels")
    }
  }

  /// Checks the bytes of an animation's canvas and of the pixels saved to restore it; see ``bytes``.
  func check(canvas: Int, saved: Int) throws(ImageError) {
    guard canvas + saved <= bytes else {
      throw ImageError(
        .tooLarge,
        "the animation's canvas has \(canvas) bytes and the pixels saved to restore it \(saved), more than the limit of "
          + "\(bytes) bytes: raise ImageDecoder.Limits.bytes")
    }
  }

  /// Checks a bitmap's size and returns its bytes; see ``bytes``.
  func byteCount(_ size: PixelSize) throws(ImageError) -> Int {
    guard let count = size.byteCount, count <= bytes else {
      throw ImageError(
        .tooLarge,
        "a bitmap of \(size) pixels takes more than the limit of \(bytes) bytes: "
          + "ask for a smaller image (fitting), or raise ImageDecoder.Limits.bytes")
    }
    return count
  }

  /// Allocates a bitmap's pixels, transparent black; checks ``bytes``.
  func makePixels(_ size: PixelSize) throws(ImageError) -> [UInt8] {
    [UInt8](repeating: 0, count: try byteCount(size))
  }

  /// Allocates a bitmap's pixels without clearing them, which would take noticeable time; checks ``bytes``.
  ///
  /// - Parameter fill: writes every byte, or returns false; then the result is empty.
  func makePixels(
    _ size: PixelSize, fill: (UnsafeMutableBufferPointer<UInt8>) -> Bool
  ) throws(ImageError) -> [UInt8] {
    let count = try byteCount(size)
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      initialized = fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count])) ? count : 0
    }
  }
}

extension ImageDecoder.Options {
  /// Returns the size, as stored, to scale the file's image to.
  func target(for file: any ImageFile) -> PixelSize {
    guard let fitting else { return file.size }
    return file.size.fitted(into: file.orientation.callsSides ? fitting.transposed : fitting)
  }

  /// Scales the codec's bitmap to the target size, converts its colors and applies the orientation.
  func finish(_ decoded: Bitmap, of file: any ImageFile, in decoding: Decoding) throws(ImageError) -> Bitmap {
    try decoding.checkAbandonment()
    var bitmap = decoded.shrunk(to: target(for: file))
    try decoding.checkAbandonment()
    if let profile = file.colorProfile, profile.layout != .invertedCMYK {
      ColorConversion.convert(&bitmap.pixels, from: profile)
    }
    return file.orientation.upright(bitmap)
  }

  /// Scales an upright bitmap down, if it is larger than ``fitting``.
  func fit(_ bitmap: Bitmap) -> Bitmap {
    guard let fitting else { return bitmap }
    return bitmap.shrunk(to: bitmap.size.fitted(into: fitting))
  }
}
