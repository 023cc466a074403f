/// A GIF file: its canvas, and the frames that are drawn on it one after another (GIF89a).
///
/// As in browsers, the canvas is transparent where no frame has drawn: the background colour is ignored. A first frame
/// that does not fit on the canvas enlarges it; later ones are cut off.
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

  /// The first frame. The rest of the file is passed over, so that one that broke off is found out.
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
    while let frame = try reader.nextFrame() {
      // A frame may be larger than the canvas. Both have sides of 16 bits, so that this cannot overflow.
      pixels += max(size.width * size.height, frame.size.width * frame.size.height)
      try limits.admit(animated: pixels)
      let covered = frame.disposal == Canvas.restorePrevious ? try canvas.copy(under: frame, limits) : nil
      try canvas.draw(frame, from: reader)
      guard try body(shown(canvas, frame)) else { break }
      switch frame.disposal {
      case Canvas.restoreBackground: canvas.replace(frame, with: nil)
      case Canvas.restorePrevious: canvas.replace(frame, with: covered)
      default: break
      }
    }
    return reader.plays
  }

  /// The bitmap shares the canvas' memory, until one of them is changed or gone: nothing keeps it while frames are restored.
  private func shown(_ canvas: Canvas, _ frame: GIFReader.Frame) -> ImageAnimation.Frame {
    ImageAnimation.Frame(bitmap: Bitmap(size: size, pixels: canvas.pixels), milliseconds: frame.delay * 10)
  }
}

/// What frames are drawn on.
private struct Canvas {
  static let restoreBackground = 2
  static let restorePrevious = 3

  let size: PixelSize
  private(set) var pixels: [UInt8]
  /// Whether nothing was drawn yet.
  private var isBlank = true

  init(size: PixelSize, pixels: [UInt8]) { (self.size, self.pixels) = (size, pixels) }

  mutating func draw(_ frame: GIFReader.Frame, from reader: GIFReader) throws(ImageError) {
    let (size, bytesPerRow) = (size, size.width * Bitmap.bytesPerPixel)
    let columns = visibleColumns(of: frame)
    var result = pixels
    isBlank = false
    pixels = []  // so that there is one owner, and nothing is copied
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

  /// The pixels that a frame is about to cover; nil while all are transparent. Refused where they and the canvas together take more
  /// than the limit.
  func copy(under frame: GIFReader.Frame, _ limits: ImageDecoder.Limits) throws(ImageError) -> [UInt8]? {
    guard !isBlank else { return nil }
    let rows = visibleRows(of: frame)
    try limits.admit(canvas: pixels.count, besides: rows.reduce(0) { $0 + $1.count })
    var covered: [UInt8] = []
    covered.reserveCapacity(rows.reduce(0) { $0 + $1.count })
    for row in rows { covered += pixels[row] }
    return covered
  }

  /// Puts back what was under a frame, or makes its place transparent.
  mutating func replace(_ frame: GIFReader.Frame, with covered: [UInt8]?) {
    let rows = visibleRows(of: frame)
    pixels.withUnsafeMutableBytes { pixels in
      guard let covered else {
        for row in rows {
          UnsafeMutableRawBufferPointer(rebasing: pixels[row]).initializeMemory(as: UInt8.self, repeating: 0)
        }
        return
      }
      var rest = covered[...]
      for row in rows {
        UnsafeMutableRawBufferPointer(rebasing: pixels[row]).copyBytes(from: rest.prefix(row.count))
        rest = rest.dropFirst(row.count)
      }
    }
  }

  /// Where the rows of a frame lie in the canvas.
  private func visibleRows(of frame: GIFReader.Frame) -> [Range<Int>] {
    let count = visibleColumns(of: frame).count * Bitmap.bytesPerPixel
    guard count > 0 else { return [] }
    return (frame.y..<max(frame.y, min(frame.y + frame.size.height, size.height))).map { y in
      let start = (y * size.width + frame.x) * Bitmap.bytesPerPixel
      return start..<start + count
    }
  }

  /// The columns of a frame that lie on the canvas.
  private func visibleColumns(of frame: GIFReader.Frame) -> Range<Int> {
    0..<max(0, min(frame.size.width, size.width - frame.x))
  }
}
