/// An image format: a built-in one, or that of an ``AdditionalFormat``.
public struct ImageFormat: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The name, such as `JPEG`.
  public let rawValue: String

  /// Names a format, for an ``AdditionalFormat``.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The name.
  public var description: String { rawValue }

  /// JPEG: baseline and progressive, Huffman and arithmetic coding, grey, YCbCr, RGB, CMYK and YCCK, 8 bits a channel.
  public static let jpeg = ImageFormat(rawValue: "JPEG")
  /// PNG: all color types and depths, interlaced or not; the default image of an animated one, or all frames.
  public static let png = ImageFormat(rawValue: "PNG")
  /// WebP: lossy and lossless, with and without alpha; the first frame of an animated one, or all of them.
  public static let webp = ImageFormat(rawValue: "WebP")
  /// GIF: 87a and 89a, interlaced or not; the first frame, or all of them.
  public static let gif = ImageFormat(rawValue: "GIF")
}

/// Your own image format, for ``ImageDecoder/Options/additionalFormats``.
///
/// ```swift
/// let bmp = AdditionalFormat(
///   ImageFormat(rawValue: "BMP"), recognizes: { $0.starts(with: Data("BM".utf8)) },
///   decode: { data, options in try decodeBMP(data, limit: options.limits.bytes) })
/// let image = try ImageDecoder.decode(data, options: .init(additionalFormats: [bmp]))
/// ```
///
/// The bitmap must be upright and in sRGB. If it is larger than ``ImageDecoder/Options/fitting``, it is scaled down
/// after decoding. Two additional formats with the same name are equal.
public struct AdditionalFormat: Sendable {
  /// The format. Its name identifies the additional format.
  public let format: ImageFormat
  let recognizes: @Sendable (Data) -> Bool
  private let decode: @Sendable (Data, ImageDecoder.Options) throws -> Bitmap
  private let readSize: @Sendable (Data) throws -> PixelSize

  /// Makes a format.
  ///
  /// - Parameters:
  ///   - format: its name.
  ///   - recognizes: whether a file has this format, by its first bytes; receives all bytes that are available.
  ///   - decode: decodes a whole file, within the options' limits. An error other than ``ImageError`` becomes one of
  ///     the kind `damaged`, and so does a bitmap without pixels or with a side of more than 2^31 - 1.
  ///   - size: reads the size from the header, for ``ImageDecoder/info(_:options:)``; by default the file is decoded.
  ///     The same sizes and errors become an ``ImageError`` of the kind `damaged`.
  public init(
    _ format: ImageFormat, recognizes: @escaping @Sendable (Data) -> Bool,
    decode: @escaping @Sendable (Data, ImageDecoder.Options) throws -> Bitmap,
    size: (@Sendable (Data) throws -> PixelSize)? = nil
  ) {
    self.format = format
    self.recognizes = recognizes
    self.decode = decode
    readSize = size ?? { try decode($0, ImageDecoder.Options()).size }
  }

  /// Decodes a file.
  func bitmap(of data: Data, _ options: ImageDecoder.Options) throws(ImageError) -> Bitmap {
    let bitmap = try run { try decode(data, options) }
    try check(bitmap.size)
    return bitmap
  }

  /// Reads the size of a file.
  func size(of data: Data) throws(ImageError) -> PixelSize {
    let size = try run { try readSize(data) }
    try check(size)
    return size
  }

  /// Checks what the built-in formats check too: scaling divides by the sides, and multiplies them.
  private func check(_ size: PixelSize) throws(ImageError) {
    let sides = 1...Int(Int32.max)
    guard sides.contains(size.width), sides.contains(size.height) else {
      throw ImageError(.damaged, "the \(format) has \(size) pixels: each side must have 1 to \(sides.upperBound)")
    }
  }

  /// Calls one of the functions; any error becomes an ``ImageError``.
  private func run<Value>(_ body: () throws -> Value) throws(ImageError) -> Value {
    do {
      return try body()
    } catch let error as ImageError {
      throw error
    } catch {
      throw ImageError(.damaged, "the \(format) cannot be decoded: \(error)")
    }
  }
}

extension AdditionalFormat: Hashable {
  /// Whether the names are the same.
  public static func == (left: AdditionalFormat, right: AdditionalFormat) -> Bool { left.format == right.format }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(format) }
}

/// Recognises the format of a file by its first bytes: never by name or `Content-Type`, which are often wrong.
enum ContentSniffer {
  private static let jpegSignature: [UInt8] = [0xFF, 0xD8, 0xFF]
  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let gifSignatures: [[UInt8]] = [Array("GIF87a".utf8), Array("GIF89a".utf8)]

  /// Returns the format, or throws an error that describes the bytes.
  static func format(of bytes: Bytes) throws(ImageError) -> ImageFormat {
    guard bytes.count > 0 else {
      throw ImageError(.empty, "there are no bytes: the response's body is empty, or was read before")
    }
    if bytes.has(jpegSignature) { return .jpeg }
    if bytes.has(pngSignature) { return .png }
    if bytes.has("RIFF"), bytes.has("WEBP", at: 8) { return .webp }
    if gifSignatures.contains(where: { bytes.has($0) }) { return .gif }
    let isCutRIFF = bytes.has("RIFF") && bytes.count < 12
    let isCutGIF = bytes.count >= 4 && gifSignatures.contains { bytes.isBeginning(of: $0) }
    if isCutRIFF || isCutGIF || bytes.isBeginning(of: jpegSignature) || bytes.isBeginning(of: pngSignature) {
      throw ImageError(
        .truncated, "the file ends within its signature, after \(bytes.count) bytes: it is incomplete, load it again")
    }
    if let name = otherImage(bytes) {
      throw ImageError(.unsupportedFormat, "this is \(name), which is not supported: use JPEG, PNG, WebP or GIF")
    }
    throw ImageError(.notAnImage, "this is \(otherContent(bytes) ?? unknown(bytes))")
  }

  /// Returns the name of a known but unsupported image format.
  private static func otherImage(_ bytes: Bytes) -> String? {
    if bytes.has("ftyp", at: 4) { return isoBaseMediaImage(bytes) }
    if bytes.has([0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]) || bytes.has([0xFF, 0x0A]) { return "a JPEG XL" }
    if bytes.has([0, 0, 0, 12, 0x6A, 0x50]) || bytes.has([0xFF, 0x4F, 0xFF, 0x51]) { return "a JPEG 2000" }
    if bytes.has("II*\0") || bytes.has([0x4D, 0x4D, 0, 42]) { return "a TIFF" }
    if bytes.has("BM"), bytes.has([0, 0, 0, 0], at: 6) { return "a BMP" }
    if bytes.has([0, 0, 1, 0]) { return "an icon (ICO)" }
    if bytes.has("8BPS") { return "a Photoshop document" }
    return isSVG(text(bytes)) ? "an SVG" : nil
  }

  /// Returns the image format of an ISO base media file (ISO 14496-12 §4.3) by its major brand; nil for a video.
  private static func isoBaseMediaImage(_ bytes: Bytes) -> String? {
    if bytes.has("avif", at: 8) || bytes.has("avis", at: 8) { return "an AVIF" }
    let heif = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
    return heif.contains { bytes.has($0, at: 8) } ? "a HEIC" : nil
  }

  /// Returns a description of content that is not an image.
  private static func otherContent(_ bytes: Bytes) -> String? {
    if bytes.has("%PDF-") { return "a PDF document" }
    if bytes.has([0x1F, 0x8B]) { return "gzip-compressed data: its Content-Encoding was not decoded" }
    if bytes.has("PK\u{3}\u{4}") { return "a ZIP archive" }
    if bytes.has("ftyp", at: 4) { return "a video (ISO base media)" }
    if bytes.has("RIFF") { return "audio or video (RIFF)" }
    guard isText(bytes) else { return nil }
    let text = text(bytes)
    if text.isEmpty { return "only white space" }
    if isHTML(text) {
      return "an HTML page, probably a login or an error page: check the response's status and URL"
    }
    if text.hasPrefix("{") || text.hasPrefix("[") { return "JSON, probably an error message of the service" }
    return text.hasPrefix("<") ? "XML" : "plain text"
  }

  private static func isSVG(_ text: String) -> Bool {
    text.hasPrefix("<svg") || ["<?xml", "<!"].contains(where: text.hasPrefix) && text.contains("<svg") && !isHTML(text)
  }

  private static func isHTML(_ text: String) -> Bool {
    ["<!doctype html", "<head", "<body"].contains(where: text.hasPrefix) || text.contains("<html")
  }

  /// Returns the beginning in lower case, without a byte order mark and leading white space.
  private static func text(_ bytes: Bytes) -> String {
    let text = String(decoding: bytes.buffer.prefix(512), as: UTF8.self).lowercased()
    return String(text.drop { $0.isWhitespace || $0 == "\u{FEFF}" })
  }

  /// Whether the beginning has no control characters other than white space.
  private static func isText(_ bytes: Bytes) -> Bool {
    bytes.buffer.prefix(512).allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
  }

  private static func unknown(_ bytes: Bytes) -> String {
    let digits = Array("0123456789abcdef")
    let start = bytes.buffer.prefix(8).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
    return "an unknown format, which begins with the bytes \(start.joined(separator: " "))"
  }
}
