/// All frames of an animated GIF or WebP, each a whole picture: what frames leave of earlier ones is done.
///
/// ```swift
/// let animation = try ImageDecoder.animation(data, options: .init(fitting: PixelSize(width: 320, height: 320)))
/// for frame in animation.frames { await show(frame.bitmap, for: frame.duration) }
/// ```
public struct ImageAnimation: Sendable, Hashable {
  /// One picture of an animation.
  public struct Frame: Sendable, Hashable {
    /// The whole picture as it is to be seen, as if it were decoded alone.
    public var bitmap: Bitmap
    /// How long it is to be seen. What a file gives as 10 ms or less is 100 ms, as in all browsers; zero for a still
    /// picture.
    public var duration: Duration

    /// Makes a frame.
    public init(bitmap: Bitmap, duration: Duration) {
      self.bitmap = bitmap
      self.duration = duration
    }

    /// A frame of an animation, whose file says how many milliseconds it is seen.
    init(bitmap: Bitmap, milliseconds: Int) {
      self.init(bitmap: bitmap, duration: .milliseconds(milliseconds <= 10 ? 100 : milliseconds))
    }
  }

  /// The frames in their order; one for a still picture.
  public var frames: [Frame]
  /// How often all frames are to be played, 1 or more; nil for ever.
  public var plays: Int?

  /// Makes an animation.
  public init(frames: [Frame], plays: Int?) {
    self.frames = frames
    self.plays = plays
  }
}

extension ImageDecoder {
  /// Decodes all frames of an animated GIF or WebP; a still picture of any format is an animation of one frame.
  ///
  /// All bitmaps together must keep within ``Limits/bytes``: ask for a smaller size with ``Options/fitting``, or use
  /// ``eachFrame(of:options:_:)``.
  ///
  /// - Throws: ``ImageError``, of any kind; if one frame is missing or damaged there is no animation.
  public static func animation(_ data: Data, options: Options = Options()) throws(ImageError) -> ImageAnimation {
    var frames: [ImageAnimation.Frame] = []
    var bytes = 0
    let plays = try walkFrames(of: data, options) { frame throws(ImageError) in
      bytes += frame.bitmap.pixels.count
      guard bytes <= options.limits.bytes else {
        throw ImageError(
          .tooLarge,
          "the animation's frames take more than the limit of \(options.limits.bytes) bytes together: ask for a smaller "
            + "picture (fitting), take them one by one (eachFrame), or raise ImageDecoder.Limits.bytes")
      }
      frames.append(frame)
      return true
    }
    return ImageAnimation(frames: frames, plays: plays)
  }

  /// Decodes frame after frame, so that one at a time takes memory.
  ///
  /// - Parameters:
  ///   - data: The whole file.
  ///   - options: As for ``decode(_:options:)``.
  ///   - body: Gets each frame; returns whether to go on.
  /// - Returns: How often the animation is to be played; nil for ever.
  /// - Throws: ``ImageError``, of any kind, perhaps after some frames.
  @discardableResult
  public static func eachFrame(
    of data: Data, options: Options = Options(), _ body: (ImageAnimation.Frame) -> Bool
  ) throws(ImageError) -> Int? {
    try walkFrames(of: data, options) { frame throws(ImageError) in body(frame) }
  }

  private static func walkFrames(
    of data: Data, _ options: Options, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    if options.additionalFormats.contains(where: { $0.recognizes(data) }) {
      _ = try body(ImageAnimation.Frame(bitmap: decode(data, options: options), duration: .zero))
      return 1
    }
    return try reading(data) { file throws(ImageError) in
      try options.limits.admit(stored: file.size)
      return try file.eachFrame(limits: options.limits) { frame throws(ImageError) in
        var frame = frame
        frame.bitmap = options.finish(frame.bitmap, of: file)
        return try body(frame)
      }
    }
  }
}
