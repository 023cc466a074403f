/// All frames of an animated GIF, PNG or WebP, each composed to the whole image.
///
/// ```swift
/// let animation = try ImageDecoder.animation(data, options: .init(fitting: PixelSize(width: 320, height: 320)))
/// for frame in animation.frames { await show(frame.bitmap, for: frame.duration) }
/// ```
public struct ImageAnimation: Sendable, Hashable {
  /// One frame of an animation.
  public struct Frame: Sendable, Hashable {
    /// The whole image to show, which does not depend on earlier frames.
    public var bitmap: Bitmap
    /// How long to show it. A value of 10 ms or less in the file is reported as 100 ms, as in all browsers; zero for a
    /// still image.
    public var duration: Duration

    /// Makes a frame.
    public init(bitmap: Bitmap, duration: Duration) {
      self.bitmap = bitmap
      self.duration = duration
    }

    /// Makes a frame of an animation from the duration in the file.
    init(bitmap: Bitmap, milliseconds: Int) {
      self.init(bitmap: bitmap, duration: .milliseconds(milliseconds <= 10 ? 100 : milliseconds))
    }
  }

  /// The frames in their order; one for a still image.
  public var frames: [Frame]
  /// How many times to play all frames, 1 or more; nil for an endless loop.
  public var plays: Int?
  /// The defect of the file, if the options are tolerant: frames after it are missing. nil for a file without one.
  public var defect: ImageError?

  /// Makes an animation.
  public init(frames: [Frame], plays: Int?) {
    self.frames = frames
    self.plays = plays
  }
}

extension ImageDecoder {
  /// Decodes all frames of an animated GIF, PNG or WebP; a still image of any format is an animation of one frame.
  ///
  /// All bitmaps together must be within ``Limits/bytes``: request a smaller size with ``Options/fitting``, or use
  /// ``eachFrame(of:options:_:)``.
  ///
  /// - Throws: ``ImageError``, of any kind; nothing is returned if one frame is missing or damaged, unless the options
  ///   are tolerant.
  public static func animation(_ data: Data, options: Options = Options()) throws(ImageError) -> ImageAnimation {
    try animation(data, options, in: Decoding(options))
  }

  static func animation(_ data: Data, _ options: Options, in decoding: Decoding) throws(ImageError) -> ImageAnimation {
    var frames: [ImageAnimation.Frame] = []
    var bytes = 0
    let plays = try forEachFrame(of: data, options, in: decoding) { frame throws(ImageError) in
      bytes += frame.bitmap.pixels.count
      guard bytes <= options.limits.bytes else {
        throw ImageError(
          .tooLarge,
          "the animation's frames take more than the limit of \(options.limits.bytes) bytes together: ask for a smaller "
            + "image (fitting), decode one frame at a time (eachFrame), or raise ImageDecoder.Limits.bytes")
      }
      frames.append(frame)
      return true
    }
    var animation = ImageAnimation(frames: frames, plays: plays)
    animation.defect = decoding.defect
    return animation
  }

  /// Decodes frame by frame, so that only one bitmap is in memory at a time.
  ///
  /// - Parameters:
  ///   - data: the whole file.
  ///   - options: as for ``decode(_:options:)``.
  ///   - body: receives each frame; returns whether to continue.
  /// - Returns: how many times to play the animation; nil for an endless loop.
  /// - Throws: ``ImageError``, of any kind, possibly after some frames.
  @discardableResult
  public static func eachFrame(
    of data: Data, options: Options = Options(), _ body: (ImageAnimation.Frame) -> Bool
  ) throws(ImageError) -> Int? {
    try forEachFrame(of: data, options, in: Decoding(options)) { frame throws(ImageError) in body(frame) }
  }

  static func forEachFrame(
    of data: Data, _ options: Options, in decoding: Decoding,
    _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    if options.additionalFormats.contains(where: { $0.recognizes(data) }) {
      _ = try body(ImageAnimation.Frame(bitmap: decode(data, options, in: decoding), duration: .zero))
      return 1
    }
    return try withFile(data) { file throws(ImageError) in
      try options.limits.check(size: file.size)
      return try file.eachFrame(in: decoding) { frame throws(ImageError) in
        var frame = frame
        frame.bitmap = try options.finish(frame.bitmap, of: file, in: decoding)
        return try body(frame)
      }
    }
  }
}
