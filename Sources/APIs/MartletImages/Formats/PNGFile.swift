import CPNG
import CZlib

/// A PNG file, read chunk by chunk (PNG 3rd edition §5) and decoded by libpng.
struct PNGFile: ImageFile {
  let format = ImageFormat.png
  let size: PixelSize
  let orientation: ImageOrientation
  private let isGrey: Bool
  private let bytes: Bytes
  /// The content of the chunk iCCP: a name, 0, the method 0, and the profile compressed by zlib (§11.3.2.3).
  private let compressedProfile: Bytes?
  /// Whether the file has an end chunk.
  private let isComplete: Bool

  /// The maximum side that the format allows (§7.1).
  private static let sideLimit = 0x7FFF_FFFF

  init(_ bytes: Bytes) throws(ImageError) {
    let signatureLength = 8
    guard bytes.count >= signatureLength + 8 + 13 else {
      throw ImageError(.truncated, "the PNG ends within its header, after \(bytes.count) bytes: the file is incomplete")
    }
    guard bytes.has("IHDR", at: 12), let width = bytes.number(at: 16, bytes: 4, .big),
      let height = bytes.number(at: 20, bytes: 4, .big), (1...PNGFile.sideLimit).contains(width),
      (1...PNGFile.sideLimit).contains(height)
    else { throw ImageError(.damaged, "the PNG does not begin with a header that declares a size") }
    var orientation = ImageOrientation.up
    var isComplete = false
    var compressedProfile: Bytes?
    var position = signatureLength
    while !isComplete, let length = bytes.number(at: position, bytes: 4, .big) {
      // A chunk is its length, its type, its content and a checksum.
      guard bytes.slice(from: position, count: length + 12) != nil else { break }
      if bytes.has("eXIf", at: position + 4), let block = bytes.slice(from: position + 8, count: length) {
        orientation = ImageOrientation(exif: block)
      }
      if bytes.has("iCCP", at: position + 4) { compressedProfile = bytes.slice(from: position + 8, count: length) }
      isComplete = bytes.has("IEND", at: position + 4)
      position += length + 12
    }
    self.bytes = bytes
    self.size = PixelSize(width: width, height: height)
    self.orientation = orientation
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
  func decode(noSmallerThan target: PixelSize, limits: ImageDecoder.Limits) throws(ImageError) -> Bitmap {
    guard isComplete else {
      throw ImageError(
        .truncated, "the PNG has no end chunk in its \(bytes.count) bytes: the file is incomplete, load it again")
    }
    var message = [CChar](repeating: 0, count: 128)
    let pixels = try limits.makePixels(size) { output in
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
    guard !pixels.isEmpty else {
      let reason = String(decoding: message.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      throw ImageError(.damaged, "the PNG is damaged: \(reason.isEmpty ? "no reason given" : reason)")
    }
    return Bitmap(size: size, pixels: pixels)
  }
}
