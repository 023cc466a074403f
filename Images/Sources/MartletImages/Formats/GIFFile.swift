/// A GIF file: a canvas on which the frames are drawn one after another (GIF89a).
///
/// As in browsers, the canvas is transparent where no frame has been drawn: the background color is ignored. If the
/// first frame is larger than the canvas, the canvas is enlarged; later frames are clipped.
struct GIFFile: ImageFile {
  let format = ImageFormat.gif
  let size: PixelSize
  let orientation = ImageOrientation.up
  private let bytes: Bytes

  // Disposal methods (GIF89a §23).
  private static let restoreBackground = 2
  private static let restorePrevious = 3

  init(_ bytes: Bytes) throws(ImageError) {
    let reader = try GIFReader(bytes)
    guard let frame = try reader.nextFrame() else { throw ImageError(.damaged, "the GIF has no frame") }
    self.bytes = bytes
    self.size = PixelSize(
      width: max(reader.screen.width, frame.area.x + frame.area.size.width),
      height: max(reader.screen.height, frame.area.y + frame.area.size.height))
  }

  /// Decodes the first frame. The rest of the file is skipped, which detects a truncated one.
  func decode(noSmallerThan target: PixelSize, in decoding: Decoding) throws(ImageError) -> Bitmap {
    let reader = try GIFReader(bytes)
    var canvas = AnimationCanvas(size: size, pixels: try decoding.limits.makePixels(size))
    if let frame = try reader.nextFrame() { try canvas.draw(frame, from: reader, in: decoding) }
    do throws(ImageError) {
      while decoding.defect == nil, try reader.nextFrame() != nil { try reader.skipRows(in: decoding) }
    } catch { try decoding.tolerate(error) }
    return Bitmap(size: size, pixels: canvas.pixels)
  }

  func eachFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    let reader = try GIFReader(bytes)
    let limits = decoding.limits
    var canvas = AnimationCanvas(size: size, pixels: try limits.makePixels(size))
    var pixels = 0
    var last: (frame: GIFReader.Frame, saved: [UInt8]?)?
    while decoding.defect == nil, let frame = try nextFrame(reader, after: last?.frame, in: decoding) {
      // A frame may be larger than the canvas. Both have sides of 16 bits, so this cannot overflow.
      pixels += max(size.width * size.height, frame.area.size.width * frame.area.size.height)
      try limits.check(framePixels: pixels)
      // Only if there is another frame: the caller may keep the last one, and the canvas is then copied.
      if let (last, saved) = last { dispose(of: last, saved, on: &canvas) }
      last = nil
      let saved = frame.disposal == GIFFile.restorePrevious ? try canvas.pixels(under: frame.area, limits) : nil
      try canvas.draw(frame, from: reader, in: decoding)
      guard try body(composed(canvas, frame)) else { break }
      last = (frame, saved)
    }
    return reader.plays
  }

  /// Returns the next frame; nil at the end. Without a frame before it, a defect is not tolerated.
  private func nextFrame(
    _ reader: GIFReader, after last: GIFReader.Frame?, in decoding: Decoding
  ) throws(ImageError) -> GIFReader.Frame? {
    do throws(ImageError) { return try reader.nextFrame() } catch {
      guard last != nil else { throw error }
      try decoding.tolerate(error)
      return nil
    }
  }

  /// Makes a frame from the canvas. Its bitmap shares the canvas' memory until either is changed or released.
  private func composed(_ canvas: AnimationCanvas, _ frame: GIFReader.Frame) -> ImageAnimation.Frame {
    ImageAnimation.Frame(bitmap: Bitmap(size: size, pixels: canvas.pixels), milliseconds: frame.delay * 10)
  }

  /// Performs a frame's disposal method.
  private func dispose(of frame: GIFReader.Frame, _ saved: [UInt8]?, on canvas: inout AnimationCanvas) {
    switch frame.disposal {
    case GIFFile.restoreBackground: canvas.restore(nil, under: frame.area)
    case GIFFile.restorePrevious: canvas.restore(saved, under: frame.area)
    default: break
    }
  }
}

extension AnimationCanvas {
  /// Draws a frame, or as many of its rows as the file has if that is tolerated. The first frame must have one.
  fileprivate mutating func draw(
    _ frame: GIFReader.Frame, from reader: GIFReader, in decoding: Decoding
  ) throws(ImageError) {
    let (size, bytesPerRow) = (size, size.width * Bitmap.bytesPerPixel)
    let columns = visibleColumns(of: frame.area)
    var isEmpty = isBlank
    try change { pixels throws(ImageError) in
      do throws(ImageError) {
        try reader.readRows(of: frame, in: decoding) { row, line in
          isEmpty = false
          let y = frame.area.y + row
          guard y < size.height else { return }
          pixels.withUnsafeMutableBytes { target in
            for x in columns {
              guard let color = frame.colors[Int(line[x])] else { continue }
              let column = (frame.area.x + x) * Bitmap.bytesPerPixel
              target.storeBytes(of: color, toByteOffset: y * bytesPerRow + column, as: UInt32.self)
            }
          }
        }
      } catch {
        guard !isEmpty else { throw error }
        try decoding.tolerate(error)
      }
    }
  }
}
