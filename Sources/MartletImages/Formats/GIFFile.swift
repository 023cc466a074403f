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
      let previous = frame.disposal == Canvas.restorePrevious ? canvas.pixels : nil
      try canvas.draw(frame, from: reader)
      let bitmap = Bitmap(size: size, pixels: canvas.pixels)
      guard try body(ImageAnimation.Frame(bitmap: bitmap, milliseconds: frame.delay * 10)) else { break }
      if let previous { canvas.pixels = previous }
      if frame.disposal == Canvas.restoreBackground { canvas.clear(frame) }
    }
    return reader.plays
  }
}

/// What frames are drawn on.
private struct Canvas {
  static let restoreBackground = 2
  static let restorePrevious = 3

  let size: PixelSize
  var pixels: [UInt8]

  mutating func draw(_ frame: GIFReader.Frame, from reader: GIFReader) throws(ImageError) {
    let (size, bytesPerRow) = (size, size.width * Bitmap.bytesPerPixel)
    let columns = visibleColumns(of: frame)
    var result = pixels
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

  /// Makes the place of a frame transparent.
  mutating func clear(_ frame: GIFReader.Frame) {
    let columns = visibleColumns(of: frame)
    for y in frame.y..<max(frame.y, min(frame.y + frame.size.height, size.height)) {
      let start = (y * size.width + frame.x) * Bitmap.bytesPerPixel
      for index in start..<start + columns.count * Bitmap.bytesPerPixel { pixels[index] = 0 }
    }
  }

  /// The columns of a frame that lie on the canvas.
  private func visibleColumns(of frame: GIFReader.Frame) -> Range<Int> {
    0..<max(0, min(frame.size.width, size.width - frame.x))
  }
}
