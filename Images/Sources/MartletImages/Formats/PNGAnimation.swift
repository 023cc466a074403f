import CZlib

/// The frames of an animated PNG (PNG 3rd edition §4.9, §11.3.6). libpng does not read them: each is made a file of its
/// own, which it reads.
struct PNGAnimation {
  private let file: PNGFile
  private let header: Bytes
  /// The chunks of the palette, which all frames share.
  private let palette: [UInt8]
  /// How many times to play the animation; 0 for an endless loop.
  private let plays: Int

  /// How a frame is disposed of, and how it is drawn (§11.3.6.2).
  private enum Operation {
    static let disposeBackground = 1
    static let disposePrevious = 2
    static let blendOver = 1
  }

  private struct Frame {
    let area: FrameArea
    let milliseconds: Int
    let disposal: Int
    let blending: Int
    var parts: [Bytes] = []
  }

  /// Makes the animation of a file; nil if its chunk acTL is missing, or comes after the pixels.
  init?(_ file: PNGFile) {
    var chunks = PNGChunks(bytes: file.bytes)
    guard let header = chunks.next()?.content, header.count == 13 else { return nil }
    var plays: Int?
    var palette: [UInt8] = []
    var names: Set = ["PLTE", "tRNS"]
    while let (type, content) = chunks.next(), !type.has("IDAT") {
      if type.has("acTL") { plays = content.number(at: 4, bytes: 4, .big) }
      // All frames copy the palette: each chunk counts once, and has 256 colors at most.
      for name in names where type.has(name) && content.count <= 768 {
        PNGAnimation.append(name, Array(content.buffer), to: &palette)
        names.remove(name)
      }
    }
    guard let plays else { return nil }
    (self.file, self.header, self.palette, self.plays) = (file, header, palette, plays)
  }

  func eachFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    var canvas = AnimationCanvas(size: file.size, pixels: try decoding.limits.makePixels(file.size))
    var pixels = 0
    var last: (frame: Frame, saved: [UInt8]?)?
    for frame in try frames(in: decoding) {
      pixels += file.size.width * file.size.height
      try decoding.limits.check(framePixels: pixels)
      if let (last, saved) = last { dispose(of: last, saved, on: &canvas) }
      last = nil
      let previous = frame.disposal == Operation.disposePrevious
      let saved = previous ? try canvas.pixels(under: frame.area, decoding.limits) : nil
      let part: Bitmap
      do throws(ImageError) { part = try decode(frame, in: decoding) } catch {
        guard pixels > file.size.width * file.size.height else { throw error }
        try decoding.tolerate(error)
        break
      }
      try canvas.draw(part, in: frame.area, over: frame.blending == Operation.blendOver)
      let whole = Bitmap(size: file.size, pixels: canvas.pixels)
      guard try body(ImageAnimation.Frame(bitmap: whole, milliseconds: frame.milliseconds)) else { break }
      last = (frame, saved)
    }
    return plays == 0 ? nil : plays
  }

  private func dispose(of frame: Frame, _ saved: [UInt8]?, on canvas: inout AnimationCanvas) {
    switch frame.disposal {
    case Operation.disposeBackground: canvas.restore(nil, under: frame.area)
    case Operation.disposePrevious: canvas.restore(saved, under: frame.area)
    default: break
    }
  }

  /// Reads the frames. The default image is the first one only if it has a chunk fcTL.
  private func frames(in decoding: Decoding) throws(ImageError) -> [Frame] {
    var frames: [Frame] = []
    var sequence = 0
    var chunks = PNGChunks(bytes: file.bytes)
    while let (type, content) = chunks.next() {
      let isControl = type.has("fcTL"), isPart = type.has("fdAT")
      if isControl || isPart {
        guard content.number(at: 0, bytes: 4, .big) == sequence else {
          throw ImageError(.damaged, "the frames of the animated PNG are not in their order")
        }
        sequence += 1
      }
      if isControl {
        frames.append(try control(content))
      } else if type.has("IDAT"), !frames.isEmpty {
        frames[frames.count - 1].parts.append(content)
      } else if isPart, !frames.isEmpty, let part = content.slice(from: 4, count: content.count - 4) {
        frames[frames.count - 1].parts.append(part)
      }
    }
    guard !frames.isEmpty else { throw ImageError(.damaged, "the animated PNG has no frame") }
    return frames
  }

  /// Reads the chunk fcTL of a frame.
  private func control(_ content: Bytes) throws(ImageError) -> Frame {
    guard let width = content.number(at: 4, bytes: 4, .big), let height = content.number(at: 8, bytes: 4, .big),
      let x = content.number(at: 12, bytes: 4, .big), let y = content.number(at: 16, bytes: 4, .big),
      let delay = content.number(at: 20, bytes: 2, .big), let unit = content.number(at: 22, bytes: 2, .big),
      let disposal = content.byte(at: 24), let blending = content.byte(at: 25), width > 0, height > 0,
      x + width <= file.size.width, y + height <= file.size.height
    else { throw ImageError(.damaged, "a frame of the animated PNG is outside of the image, or has no size") }
    return Frame(
      area: FrameArea(x: x, y: y, size: PixelSize(width: width, height: height)),
      milliseconds: delay * 1000 / (unit == 0 ? 100 : unit), disposal: Int(disposal), blending: Int(blending))
  }

  /// Decodes a frame as a file of its own, which has the palette of the whole.
  private func decode(_ frame: Frame, in decoding: Decoding) throws(ImageError) -> Bitmap {
    var content: [UInt8] = Array(file.bytes.buffer.prefix(PNGChunks.signatureLength))
    let size = [frame.area.size.width, frame.area.size.height].flatMap { PNGAnimation.number($0) }
    PNGAnimation.append("IHDR", size + header.buffer.dropFirst(8), to: &content)
    content += palette
    for part in frame.parts { PNGAnimation.append("IDAT", Array(part.buffer), to: &content) }
    PNGAnimation.append("IEND", [], to: &content)
    let result: Result<Bitmap, ImageError> = content.withUnsafeBytes { buffer in
      Result { () throws(ImageError) in try PNGFile.read(Bytes(buffer: buffer), frame.area.size, in: decoding) }
    }
    return try result.get()
  }

  /// Appends a chunk: its length, its type, its content and a checksum (§5.3).
  private static func append(_ type: String, _ content: [UInt8], to file: inout [UInt8]) {
    let checked = Array(type.utf8) + content
    file += number(content.count) + checked + number(Int(crc32(0, checked, uInt(checked.count))))
  }

  private static func number(_ value: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
}
