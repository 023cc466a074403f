import CPNG

/// A PNG file, walked from chunk to chunk (PNG 3rd edition §5).
struct PNGFile: ImageFile {
  let format = ImageFormat.png
  let size: PixelSize
  let orientation: ImageOrientation
  private let bytes: Bytes
  /// Whether the walk came to the end chunk.
  private let isComplete: Bool

  /// The longest side that the format allows (§7.1).
  private static let sideLimit = 0x7FFF_FFFF

  init(_ bytes: Bytes) throws(ImageError) {
    let signatureLength = 8
    guard bytes.count >= signatureLength + 8 + 13 else {
      throw ImageError(.truncated, "the PNG ends within its head, after \(bytes.count) bytes: the download broke off")
    }
    guard bytes.has("IHDR", at: 12), let width = bytes.number(at: 16, bytes: 4, .big),
      let height = bytes.number(at: 20, bytes: 4, .big), (1...PNGFile.sideLimit).contains(width),
      (1...PNGFile.sideLimit).contains(height)
    else { throw ImageError(.damaged, "the PNG does not begin with a header that declares a size") }
    var orientation = ImageOrientation.up
    var isComplete = false
    var position = signatureLength
    while !isComplete, let length = bytes.number(at: position, bytes: 4, .big) {
      // A chunk is its length, its name, its content and a checksum.
      guard bytes.slice(from: position, count: length + 12) != nil else { break }
      if bytes.has("eXIf", at: position + 4), let block = bytes.slice(from: position + 8, count: length) {
        orientation = ImageOrientation(exif: block)
      }
      isComplete = bytes.has("IEND", at: position + 4)
      position += length + 12
    }
    self.bytes = bytes
    self.size = PixelSize(width: width, height: height)
    self.orientation = orientation
    self.isComplete = isComplete
  }

  /// Always at full size: PNG cannot be scaled on the way.
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    guard isComplete else {
      throw ImageError(
        .truncated, "the PNG has no end chunk in its \(bytes.count) bytes: the download broke off, load it again")
    }
    var pixels = try limits.makePixels(size)
    var message = [CChar](repeating: 0, count: 128)
    let succeeded = pixels.withUnsafeMutableBufferPointer { output in
      message.withUnsafeMutableBufferPointer { message in
        var reading = martlet_png_reading()
        reading.bytes = bytes.buffer.bindMemory(to: UInt8.self).baseAddress
        reading.count = bytes.count
        reading.pixels = output.baseAddress
        reading.width = png_uint_32(size.width)
        reading.height = png_uint_32(size.height)
        reading.message = message.baseAddress
        reading.message_capacity = message.count
        return martlet_png_read(&reading) == 1
      }
    }
    guard succeeded else {
      let reason = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      throw ImageError(.damaged, "the PNG is damaged: \(reason.isEmpty ? "no reason given" : reason)")
    }
    return Bitmap(size: size, pixels: pixels)
  }
}
