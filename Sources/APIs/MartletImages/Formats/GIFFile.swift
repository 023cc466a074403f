/// A GIF file: a canvas on which the frames are drawn one after another (GIF89a).
///
/// As in browsers, the canvas is transparent where no frame has been drawn: the background color is ignored. If the
/// first frame is larger than the canvas, the canvas is enlarged; later frames are clipped.
struct GIFFile: ImageFile {
  let format = ImageFormat.gif
  let size: PixelSize
  let orientation = ImageOrientation.up
  private let bytes: Bytes

  init(_ bytes: Bytes) throws(ImageError) {
    let reader = try GIFReader(bytes)
    guard let frame = try reader.nextFrame() else { throw ImageError(.damaged, "the GIF has no frame") }
    self.bytes = bytes
    self.size = PixelSize(
      width: max(reader.screen.width, frame.x + frame.size.width),
      height: max(reader.screen.height, frame.y + frame.size.height))
  }

  /// Decodes the first frame. The rest of the file is skipped, which detects a truncated one.
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    let reader = try GIFReader(bytes)
    var canvas = Canvas(size: size, pixels: try limits.makePixels(size))
    if let frame = try reader.nextFrame() { try canvas.draw(frame, from: reader) }
    while try reader.nextFrame() != nil { try reader.skipRows() }
    return Bitmap(size: size, pixels: canvas.pixels)
  }

  func eachFrame(
    limits: ImageDecoder.Limits, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    let reader = try GIFReader(bytes)
    var canvas = Canvas(size: size, pixels: try limits.makePixels(size))
    var pixels = 0
    var last: (frame: GIFReader.Frame, saved: [UInt8]?)?
    while let frame = try reader.nextFrame() {
      // A frame may be larger than the canvas. Both have sides of 16 bits, so this cannot overflow.
      pixels += max(size.width * size.height, frame.size.width * frame.size.height)
      try limits.check(framePixels: pixels)
      // Only if there is another frame: the caller may keep the last one, and the canvas is then copied.
      if let (last, saved) = last { canvas.dispose(of: last, saved) }
      last = nil
      let saved = frame.disposal == Canvas.restorePrevious ? try canvas.pixels(under: frame, limits) : nil
      try canvas.draw(frame, from: reader)
      guard try body(composed(canvas, frame)) else { break }
      last = (frame, saved)
    }
    return reader.plays
  }

  /// Makes a frame from the canvas. Its bitmap shares the canvas' memory until either is changed or released.
  private func composed(_ canvas: Canvas, _ frame: GIFReader.Frame) -> ImageAnimation.Frame {
    ImageAnimation.Frame(bitmap: Bitmap(size: size, pixels: canvas.pixels), milliseconds: frame.delay * 10)
  }
}

/// The pixels that frames are drawn on.
private struct Canvas {
  // Disposal methods (GIF89a §23).
  static let restoreBackground = 2
  static let restorePrevious = 3

  let size: PixelSize
  private(set) var pixels: [UInt8]
  /// Whether nothing has been drawn yet.
  private var isBlank = true

  init(size: PixelSize, pixels: [UInt8]) { (self.size, self.pixels) = (size, pixels) }

  mutating func draw(_ frame: GIFReader.Frame, from reader: GIFReader) throws(ImageError) {
    let (size, bytesPerRow) = (size, size.width * Bitmap.bytesPerPixel)
    let columns = visibleColumns(of: frame)
    var result = pixels
    isBlank = false
    pixels = []  // `result` is then the only reference, and nothing is copied.
    defer { pixels = result }
    try reader.readRows(of: frame) { row, line in
      let y = frame.y + row
      guard y < size.height else { return }
      result.withUnsafeMutableBytes { target in
        for x in columns {
          guard let color = frame.colors[Int(line[x])] else { continue }
          target.storeBytes(
            of: color, toByteOffset: y * bytesPerRow + (frame.x + x) * Bitmap.bytesPerPixel, as: UInt32.self)
        }
      }
    }
  }

  /// Returns a copy of the pixels that a frame is about to cover; nil while all are transparent.
  ///
  /// - Throws: ``ImageError`` of the kind `tooLarge` if the copy and the canvas together exceed the limit.
  func pixels(under frame: GIFReader.Frame, _ limits: ImageDecoder.Limits) throws(ImageError) -> [UInt8]? {
    guard !isBlank else { return nil }
    let rows = visibleRows(of: frame)
    try limits.check(canvas: pixels.count, saved: rows.reduce(0) { $0 + $1.count })
    var saved: [UInt8] = []
    saved.reserveCapacity(rows.reduce(0) { $0 + $1.count })
    for row in rows { saved += pixels[row] }
    return saved
  }

  /// Performs a frame's disposal method.
  mutating func dispose(of frame: GIFReader.Frame, _ saved: [UInt8]?) {
    switch frame.disposal {
    case Canvas.restoreBackground: restore(nil, under: frame)
    case Canvas.restorePrevious: restore(saved, under: frame)
    default: break
    }
  }

  /// Restores the pixels that were under a frame; nil makes them transparent.
  private mutating func restore(_ saved: [UInt8]?, under frame: GIFReader.Frame) {
    let rows = visibleRows(of: frame)
    pixels.withUnsafeMutableBytes { pixels in
      guard let saved else {
        for row in rows {
          UnsafeMutableRawBufferPointer(rebasing: pixels[row]).initializeMemory(as: UInt8.self, repeating: 0)
        }
        return
      }
      var rest = saved[...]
      for row in rows {
        UnsafeMutableRawBufferPointer(rebasing: pixels[row]).copyBytes(from: rest.prefix(row.count))
        rest = rest.dropFirst(row.count)
      }
    }
  }

  /// Returns the rows of a frame as ranges of the canvas' bytes.
  private func visibleRows(of frame: GIFReader.Frame) -> [Range<Int>] {
    let count = visibleColumns(of: frame).count * Bitmap.bytesPerPixel
    guard count > 0 else { return [] }
    return (frame.y..<max(frame.y, min(frame.y + frame.size.height, size.height))).map { y in
      let start = (y * size.width + frame.x) * Bitmap.bytesPerPixel
      return start..<start + count
    }
  }

  /// Returns the columns of a frame that are on the canvas.
  private func visibleColumns(of frame: GIFReader.Frame) -> Range<Int> {
    0..<max(0, min(frame.size.width, size.width - frame.x))
  }
}
