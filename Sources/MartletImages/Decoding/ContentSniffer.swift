/// Recognises a file by its first bytes: never by name or `Content-Type`, which servers get wrong.
enum ContentSniffer {
  private static let jpegSignature: [UInt8] = [0xFF, 0xD8, 0xFF]
  private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  private static let gifSignatures: [[UInt8]] = [Array("GIF87a".utf8), Array("GIF89a".utf8)]

  /// The format, or an error that says what the bytes are instead.
  static func format(of bytes: Bytes) throws(ImageError) -> ImageFormat {
    guard bytes.count > 0 else {
      throw ImageError(.empty, "there are no bytes: the response's body was empty, or was read before")
    }
    if bytes.has(jpegSignature) { return .jpeg }
    if bytes.has(pngSignature) { return .png }
    if bytes.has("RIFF"), bytes.has("WEBP", at: 8) { return .webp }
    if gifSignatures.contains(where: { bytes.has($0) }) { return .gif }
    let isCutRIFF = bytes.has("RIFF") && bytes.count < 12
    let isCutGIF = bytes.count >= 4 && gifSignatures.contains { bytes.isBeginning(of: $0) }
    if isCutRIFF || isCutGIF || bytes.isBeginning(of: jpegSignature) || bytes.isBeginning(of: pngSignature) {
      throw ImageError(.truncated, "only \(bytes.count) bytes are there, perhaps the beginning of a picture")
    }
    if let name = otherImage(bytes) {
      throw ImageError(.unsupportedFormat, "this is \(name), which is not supported: JPEG, PNG, WebP and GIF are")
    }
    throw ImageError(.notAnImage, "this is \(otherContent(bytes) ?? unknown(bytes))")
  }

  /// The name of an image format that is known, but not decoded.
  private static func otherImage(_ bytes: Bytes) -> String? {
    if bytes.has("ftyp", at: 4) { return imageInBoxes(bytes) }
    if bytes.has([0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20]) || bytes.has([0xFF, 0x0A]) { return "a JPEG XL" }
    if bytes.has([0, 0, 0, 12, 0x6A, 0x50]) || bytes.has([0xFF, 0x4F, 0xFF, 0x51]) { return "a JPEG 2000" }
    if bytes.has("II*\0") || bytes.has([0x4D, 0x4D, 0, 42]) { return "a TIFF" }
    if bytes.has("BM"), bytes.has([0, 0, 0, 0], at: 6) { return "a BMP" }
    if bytes.has([0, 0, 1, 0]) { return "an icon (ICO)" }
    if bytes.has("8BPS") { return "a Photoshop document" }
    return isSVG(text(bytes)) ? "an SVG" : nil
  }

  /// The image format of an ISO base media file (ISO 14496-12 §4.3) by its major brand; nil for a video.
  private static func imageInBoxes(_ bytes: Bytes) -> String? {
    if bytes.has("avif", at: 8) || bytes.has("avis", at: 8) { return "an AVIF" }
    let heif = ["heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"]
    return heif.contains { bytes.has($0, at: 8) } ? "a HEIC" : nil
  }

  /// What something looks like that is no image.
  private static func otherContent(_ bytes: Bytes) -> String? {
    if bytes.has("%PDF-") { return "a PDF document" }
    if bytes.has([0x1F, 0x8B]) { return "gzip-compressed data: its Content-Encoding was not undone" }
    if bytes.has("PK\u{3}\u{4}") { return "a ZIP archive" }
    if bytes.has("ftyp", at: 4) { return "a video (ISO base media)" }
    if bytes.has("RIFF") { return "a sound or a video (RIFF)" }
    guard isText(bytes) else { return nil }
    let text = text(bytes)
    if text.isEmpty { return "nothing but white space" }
    if isHTML(text) {
      return "an HTML page, perhaps a login or an error page: look at the response's status and URL"
    }
    if text.hasPrefix("{") || text.hasPrefix("[") { return "JSON, perhaps an error message of the service" }
    return text.hasPrefix("<") ? "XML" : "plain text"
  }

  private static func isSVG(_ text: String) -> Bool {
    text.hasPrefix("<svg") || ["<?xml", "<!"].contains(where: text.hasPrefix) && text.contains("<svg") && !isHTML(text)
  }

  private static func isHTML(_ text: String) -> Bool {
    ["<!doctype html", "<head", "<body"].contains(where: text.hasPrefix) || text.contains("<html")
  }

  /// The beginning in lower case, without a byte order mark and leading white space.
  private static func text(_ bytes: Bytes) -> String {
    let text = String(decoding: bytes.buffer.prefix(512), as: UTF8.self).lowercased()
    return String(text.drop { $0.isWhitespace || $0 == "\u{FEFF}" })
  }

  /// Whether the beginning has no control characters but white space.
  private static func isText(_ bytes: Bytes) -> Bool {
    bytes.buffer.prefix(512).allSatisfy { $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }
  }

  private static func unknown(_ bytes: Bytes) -> String {
    let digits = Array("0123456789abcdef")
    let start = bytes.buffer.prefix(8).map { "\(digits[Int($0 >> 4)])\(digits[Int($0 & 15)])" }
    return "no format that is known here: it begins with the bytes \(start.joined(separator: " "))"
  }
}
