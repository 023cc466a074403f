import CPNG
import CZlib

/// A PNG file, read chunk by chunk (PNG 3rd edition §5) and decoded by libpng.
struct PNGFile: ImageFile {
  let format = ImageFormat.png
  let size: PixelSize
  let orientation: ImageOrientation
  private let isGrey: Bool
  let bytes: Bytes
  /// The content of the chunk iCCP: a name, 0, the method 0, and the profile compressed by zlib (§11.3.2.3).
  private let compressedProfile: Bytes?
  /// Whether the file has an end chunk.
  private let isComplete: Bool

  /// The maximum side that the format allows (§7.1).
  private static let sideLimit = 0x7FFF_FFFF

  init(_ bytes: Bytes) throws(ImageError) {
    guard bytes.count >= PNGChunks.signatureLength + 8 + 13 else {
      throw ImageError(.truncated, "the PNG ends within its header, after \(bytes.count) bytes: the file is incomplete")
    }
    guard bytes.has("IHDR", at: 12), let width = bytes.number(at: 16, bytes: 4, .big),
      let height = bytes.number(at: 20, bytes: 4, .big), (1...PNGFile.sideLimit).contains(width),
      (1...PNGFile.sideLimit).contains(height)
    else { throw ImageError(.damaged, "the PNG does not begin with a header that declares a size") }
    var orientation: ImageOrientation?
    var isComplete = false
    var compressedProfile: Bytes?
    var chunks = PNGChunks(bytes: bytes)
    while !isComplete, let chunk = chunks.next() {
      // The first block counts, as in a JPEG.
      if chunk.type.has("eXIf") { orientation = orientation ?? ImageOrientation(exif: chunk.content) }
      if chunk.type.has("iCCP") { compressedProfile = chunk.content }
      isComplete = chunk.type.has("IEND")
    }
    self.bytes = bytes
    self.size = PixelSize(width: width, height: height)
    self.orientation = orientation ?? .up
    self.isComplete = isComplete
    self.compressedProfile = compressedProfile
    // Color types 0 and 4.
    isGrey = bytes.byte(at: 25).map { $0 & 3 == 0 } ?? false
  }

  /// The profile, decompressed here with a limit: libpng is set to ignore the chunk, which can be a decompression bomb.
  /// A profile that is too long is cut off at the limit, and refused.
  var colorProfile: ColorProfile? {
    guard let compressedProfile, let name = compressedProfile.firstIndex(of: 0, from: 0),
      let compressed = compressedProfile.slice(from: name + 2, count: compressedProfile.count - name - 2)
    else { return nil }
    let layout: ColorConversion.Layout = isGrey ? .grey : .rgba
    let content = [UInt8](unsafeUninitializedCapacity: layout.profileLimit + 1) { buffer, count in
      var length = uLongf(layout.profileLimit + 1)
      let source = compressed.buffer.bindMemory(to: UInt8.self).baseAddress
      let status = uncompress(buffer.baseAddress, &length, source, uLong(compressed.count))
      count = status == Z_OK || status == Z_BUF_ERROR ? Int(length) : 0
    }
    return content.isEmpty ? nil : ColorProfile(content: content, layout: layout)
  }

  /// Always at full size: PNG cannot be scaled while it is decoded.
  func decode(noSmallerThan target: PixelSize, in decoding: Decoding) throws(ImageError) -> Bitmap {
    try checkEnd(in: decoding)
    return try PNGFile.read(bytes, size, in: decoding)
  }

  /// Checks that the file has its end chunk.
  func checkEnd(in decoding: Decoding) throws(ImageError) {
    guard !isComplete else { return }
    try decoding.tolerate(
      ImageError(
        .truncated, "the PNG has no end chunk in its \(bytes.count) bytes: the file is incomplete, load it again"))
  }

  /// Reads a whole file, or the rows that it has if a defect is tolerated.
  static func read(_ bytes: Bytes, _ size: PixelSize, in decoding: Decoding) throws(ImageError) -> Bitmap {
    var message = [CChar](repeating: 0, count: 128)
    var failed: martlet_png_reading?
    let pixels = try decoding.limits.makePixels(size) { output in
      message.withUnsafeMutableBufferPointer { message in
        var reading = martlet_png_reading()
        reading.bytes = bytes.buffer.bindMemory(to: UInt8.self).baseAddress
        reading.count = bytes.count
        reading.pixels = output.baseAddress
        (reading.width, reading.height) = (png_uint_32(size.width), png_uint_32(size.height))
        (reading.message, reading.message_capacity) = (message.baseAddress, message.count)
        (reading.is_stopped, reading.owner) = (Decoding.stopCallback, decoding.pointer)
        if martlet_png_read(&reading) == 1 { return true }
        failed = reading
        guard decoding.isTolerant, reading.was_stopped == 0 else { return false }
        output.update(repeating: 0)
        // The message remains that of the first attempt.
        (reading.message_capacity, reading.is_tolerant) = (0, 1)
        _ = martlet_png_read(&reading)
        failed = reading
        return reading.rows > 0 && reading.was_stopped == 0
      }
    }
    guard let failed else { return Bitmap(size: size, pixels: pixels) }
    guard failed.was_stopped == 0 else { throw Decoding.abandoned }
    let reason = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let error = ImageError(.damaged, "the PNG is damaged: \(reason.isEmpty ? "no reason given" : reason)")
    guard !pixels.isEmpty else { throw error }
    try decoding.tolerate(error)
    return Bitmap(size: size, pixels: pixels)
  }

  func eachFrame(
    in decoding: Decoding, _ body: (ImageAnimation.Frame) throws(ImageError) -> Bool
  ) throws(ImageError) -> Int? {
    guard let animation = PNGAnimation(self) else { return try stillFrame(in: decoding, body) }
    try checkEnd(in: decoding)
    return try animation.eachFrame(in: decoding, body)
  }
}

/// The chunks of a PNG file, one after another (§5.3).
struct PNGChunks {
  static let signatureLength = 8
  let bytes: Bytes
  private var position = PNGChunks.signatureLength

  init(bytes: Bytes) { self.bytes = bytes }

  /// Returns the next complete chunk: its length, its type, its content and a checksum.
  mutating func next() -> (type: Bytes, content: Bytes)? {
    guard let length = bytes.number(at: position, bytes: 4, .big),
      let type = bytes.slice(from: position + 4, count: 4),
      let content = bytes.slice(from: position + 8, count: length),
      bytes.slice(from: position, count: length + 12) != nil
    else { return nil }
    position += length + 12
    return (type, content)
  }
}
