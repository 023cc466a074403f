extension ImageDecoder {
  /// How a picture is decoded.
  public struct Options: Sendable, Hashable {
    /// The box that the upright picture shall fit into, keeping its proportions; nil, the default, for full size.
    ///
    /// A picture that fits already stays as it is: nothing is enlarged. Sides below 1 count as 1. JPEG and WebP
    /// are scaled while they are decoded, which saves time and memory; PNG, GIF and frames are decoded whole and then
    /// scaled down.
    public var fitting: PixelSize?
    /// Formats of your own, asked in this order before those that are built in; none by default.
    public var additionalFormats: [AdditionalFormat]
    /// What is refused; ``Limits/init(pixels:bytes:animationPixels:)`` has the defaults.
    public var limits: Limits

    /// Makes options; by default full size, within the default limits.
    public init(
      fitting: PixelSize? = nil, limits: Limits = Limits(), additionalFormats: [AdditionalFormat] = []
    ) {
      self.fitting = fitting
      self.limits = limits
      self.additionalFormats = additionalFormats
    }
  }

  /// What is refused before memory is taken for it: a file of some bytes can declare a picture of gigabytes.
  public struct Limits: Sendable, Hashable {
    /// The largest picture, in pixels as the file declares them: it bounds the time. 100 megapixels by default.
    public var pixels: Int
    /// The largest single bitmap that is decoded into, in bytes, 4 a pixel. 400 MB by default.
    ///
    /// With ``Options/fitting``, a JPEG's or a WebP's bitmap is that of the reduced size. Two bitmaps can exist at a
    /// time (before and after scaling, or turning), and a codec's own memory comes on top: up to 8 bytes per declared
    /// pixel for a progressive JPEG or a WebP. All bitmaps of an ``ImageAnimation`` together count as one, and
    /// so do an animated GIF's canvas and what it keeps to restore it.
    public var bytes: Int
    /// The most pixels of all frames of an animation together, each counted as the whole picture: it bounds the time.
    /// 2 gigapixels by default, a minute of 1024×768 at 40 frames a second.
    public var animationPixels: Int

    /// Makes limits; the defaults are those said at the properties.
    public init(pixels: Int = 100_000_000, bytes: Int = 400_000_000, animationPixels: Int = 2_000_000_000) {
      self.pixels = pixels
      self.bytes = bytes
      self.animationPixels = animationPixels
    }

    /// Refuses a picture whose declared size is above ``pixels``.
    func admit(stored size: PixelSize) throws(ImageError) {
      guard let area = size.area, area <= pixels else {
        throw ImageError(
          .tooLarge, "the picture has \(size) pixels, the limit is \(pixels): raise ImageDecoder.Limits.pixels")
      }
    }

    /// Refuses an animation of so many pixels in all; see ``animationPixels``.
    func admit(animated count: Int) throws(ImageError) {
      guard count <= animationPixels else {
        throw ImageError(
          .tooLarge,
          "the animation's frames have more than \(animationPixels) pixels together, which is the limit: "
            + "raise ImageDecoder.Limits.animationPixels")
      }
    }

    /// Refuses to keep pixels of an animation beside its canvas; see ``bytes``.
    func admit(canvas: Int, besides saved: Int) throws(ImageError) {
      guard canvas + saved <= bytes else {
        throw ImageError(
          .tooLarge,
          "the animation's canvas takes \(canvas) bytes and what a frame covers for a while \(saved), more than the limit of "
            + "\(bytes) bytes: raise ImageDecoder.Limits.bytes")
      }
    }

    /// Memory for a bitmap of `size`, transparent black; refused above ``bytes``.
    func makePixels(_ size: PixelSize) throws(ImageError) -> [UInt8] {
      [UInt8](repeating: 0, count: try byteCount(size))
    }

    /// The same, but what `fill` has written: clearing so much memory first would take noticeable time.
    ///
    /// - Parameter fill: Writes every byte, or returns false; then nothing is returned to anybody.
    func makePixels(
      _ size: PixelSize, fill: (UnsafeMutableBufferPointer<UInt8>) -> Bool
    ) throws(ImageError) -> [UInt8] {
      let count = try byteCount(size)
      return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
        initialized = fill(UnsafeMutableBufferPointer(rebasing: buffer[..<count])) ? count : 0
      }
    }

    func byteCount(_ size: PixelSize) throws(ImageError) -> Int {
      guard let count = size.byteCount, count <= bytes else {
        throw ImageError(
          .tooLarge,
          "a bitmap of \(size) pixels takes more than the limit of \(bytes) bytes: "
            + "ask for a smaller picture (fitting), or raise ImageDecoder.Limits.bytes")
      }
      return count
    }
  }
}
