/// The part of the canvas that a frame of an animation covers.
struct FrameArea {
  var x: Int
  var y: Int
  var size: PixelSize
}

/// The pixels that the frames of an animated GIF or PNG are drawn on, one after another. Areas may extend beyond them.
struct AnimationCanvas {
  let size: PixelSize
  var pixels: [UInt8]
  /// Whether nothing has been drawn yet.
  private(set) var isBlank = true

  init(size: PixelSize, pixels: [UInt8]) { (self.size, self.pixels) = (size, pixels) }

  /// Changes the pixels without a copy, unless a frame still shares them.
  mutating func change(_ body: (inout [UInt8]) throws(ImageError) -> Void) throws(ImageError) {
    var changed = pixels
    isBlank = false
    pixels = []  // `changed` is then the only reference, and nothing is copied.
    defer { pixels = changed }
    try body(&changed)
  }

  /// Draws a frame, in place of what is there or over it. Both have straight alpha.
  mutating func draw(_ frame: Bitmap, in area: FrameArea, over isOver: Bool) throws(ImageError) {
    let width = size.width
    try change { pixels throws(ImageError) in
      pixels.withUnsafeMutableBytes { target in
        frame.pixels.withUnsafeBytes { source in
          for y in 0..<area.size.height {
            let start = ((area.y + y) * width + area.x) * Bitmap.bytesPerPixel
            let row = UnsafeMutableRawBufferPointer(rebasing: target[start..<start + frame.bytesPerRow])
            let line = UnsafeRawBufferPointer(rebasing: source[(y * frame.bytesPerRow)..<((y + 1) * frame.bytesPerRow)])
            if isOver { AnimationCanvas.blend(line, over: row) } else { row.copyMemory(from: line) }
          }
        }
      }
    }
  }

  /// Composites a row over another (PNG 3rd edition §13.16).
  private static func blend(_ line: UnsafeRawBufferPointer, over row: UnsafeMutableRawBufferPointer) {
    for at in stride(from: 0, to: line.count, by: Bitmap.bytesPerPixel) {
      let above = Int(line[at + 3]) * 255
      let below = Int(row[at + 3]) * (255 - Int(line[at + 3]))
      guard above > 0 else { continue }
      let alpha = above + below
      for channel in at..<at + 3 {
        row[channel] = UInt8((Int(line[channel]) * above + Int(row[channel]) * below + alpha / 2) / alpha)
      }
      row[at + 3] = UInt8((alpha + 127) / 255)
    }
  }

  /// Returns a copy of the pixels that a frame is about to cover; nil while all are transparent.
  ///
  /// - Throws: ``ImageError`` of the kind `tooLarge` if the copy and the canvas together exceed the limit.
  func pixels(under area: FrameArea, _ limits: ImageDecoder.Limits) throws(ImageError) -> [UInt8]? {
    guard !isBlank else { return nil }
    let rows = visibleRows(of: area)
    try limits.check(canvas: pixels.count, saved: rows.reduce(0) { $0 + $1.count })
    var saved: [UInt8] = []
    saved.reserveCapacity(rows.reduce(0) { $0 + $1.count })
    for row in rows { saved += pixels[row] }
    return saved
  }

  /// Restores the pixels that were under a frame; nil makes them transparent.
  mutating func restore(_ saved: [UInt8]?, under area: FrameArea) {
    let rows = visibleRows(of: area)
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

  /// Returns the columns of a frame that are on the canvas.
  func visibleColumns(of area: FrameArea) -> Range<Int> { 0..<max(0, min(area.size.width, size.width - area.x)) }

  /// Returns the rows of a frame as ranges of the canvas' bytes.
  private func visibleRows(of area: FrameArea) -> [Range<Int>] {
    let count = visibleColumns(of: area).count * Bitmap.bytesPerPixel
    guard count > 0 else { return [] }
    return (area.y..<max(area.y, min(area.y + area.size.height, size.height))).map { y in
      let start = (y * size.width + area.x) * Bitmap.bytesPerPixel
      return start..<start + count
    }
  }
}
