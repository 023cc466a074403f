extension ImageDecoder {
  /// How a picture is decoded.
  public struct Options: Sendable, Hashable {
    /// The box that the upright picture shall fit into, keeping its proportions; nil, the default, for full size.
    ///
    /// A picture that fits already stays as it is: nothing is enlarged. Sides below 1 count as 1. JPEG and WebP
    /// are scaled while they are decoded, which saves time and memory; a PNG is decoded whole and then scaled down.
    public var fitting: PixelSize?
    /// What is refused; ``Limits/init(pixels:bytes:)`` has the defaults.
    public var limits: Limits

    /// Makes options; by default full size, within the default limits.
    public init(fitting: PixelSize? = nil, limits: Limits = Limits()) {
      self.fitting = fitting
      self.limits = limits
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
    /// pixel for a progressive JPEG or a WebP.
    public var bytes: Int

    /// Makes limits: 100 megapixels and 400 MB by default.
    public init(pixels: Int = 100_000_000, bytes: Int = 400_000_000) {
      self.pixels = pixels
      self.bytes = bytes
    }

    /// Refuses a picture whose declared size is above ``pixels``.
    func admit(stored size: PixelSize) throws(ImageError) {
      guard let area = size.area, area <= pixels else {
        throw ImageError(
          .tooLarge, "the picture has \(size) pixels, the limit is \(pixels): raise ImageDecoder.Limits.pixels")
      }
    }

    /// Memory for a bitmap of `size`, transparent black; refused above ``bytes``.
    func makePixels(_ size: PixelSize) throws(ImageError) -> [UInt8] {
      guard let count = size.byteCount, count <= bytes else {
        throw ImageError(
          .tooLarge,
          "a bitmap of \(size) pixels takes more than the limit of \(bytes) bytes: "
            + "ask for a smaller picture (fitting), or raise ImageDecoder.Limits.bytes")
      }
      return [UInt8](repeating: 0, count: count)
    }
  }
}
