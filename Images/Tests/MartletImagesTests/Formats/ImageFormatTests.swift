import MartletImages
import Testing

@Suite("Recognition by content", .timeLimit(.minutes(5)))
struct RecognitionTests {
  struct Row: Sendable {
    let bytes: [UInt8]
    let kind: ImageError.Kind
    let says: String

    init(_ text: String, _ kind: ImageError.Kind, _ says: String) {
      self.init(Array(text.utf8), kind, says)
    }

    init(_ bytes: [UInt8], _ kind: ImageError.Kind, _ says: String) {
      (self.bytes, self.kind, self.says) = (bytes, kind, says)
    }
  }

  @Test(arguments: [
    Row("", .empty, "no bytes"),
    Row("<!DOCTYPE html><html><body>Log in</body></html>", .notAnImage, "HTML"),
    Row("\u{FEFF}\r\n  <HTML lang=en>", .notAnImage, "HTML"),
    Row("<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>", .notAnImage, "HTML"),
    Row("<!doctype html><svg></svg>", .notAnImage, "HTML"),
    Row(#"{"error": "expired"}"#, .notAnImage, "JSON"),
    Row("[1]", .notAnImage, "JSON"),
    Row("<?xml version='1.0'?><error/>", .notAnImage, "XML"),
    Row("Not found", .notAnImage, "plain text"),
    Row("  \n", .notAnImage, "white space"),
    Row("%PDF-1.7\n%\u{1}", .notAnImage, "PDF"),
    Row([0x1F, 0x8B, 8, 0], .notAnImage, "gzip"),
    Row("PK\u{3}\u{4}", .notAnImage, "ZIP"),
    Row("\0\0\0\u{18}ftypisom\0\0\0\0", .notAnImage, "video"),
    Row("RIFF\u{8}\0\0\0WAVEfmt ", .notAnImage, "RIFF"),
    Row([0, 1, 2, 3, 0xFE], .notAnImage, "00 01 02 03 fe"),
    Row("\0\0\0\u{1C}ftypavif\0\0\0\0", .unsupportedFormat, "AVIF"),
    Row("\0\0\0\u{18}ftypheic\0\0\0\0", .unsupportedFormat, "HEIC"),
    Row("<svg xmlns='http://www.w3.org/2000/svg'/>", .unsupportedFormat, "SVG"),
    Row("<?xml version='1.0'?>\n<!-- drawn -->\n<svg/>", .unsupportedFormat, "SVG"),
    Row("BM\u{46}\0\0\0\0\0\0\0\u{36}\0", .unsupportedFormat, "BMP"),
    Row("II*\0\u{8}\0\0\0", .unsupportedFormat, "TIFF"),
    Row([0, 0, 0, 12, 0x4A, 0x58, 0x4C, 0x20], .unsupportedFormat, "JPEG XL"),
    Row([0xFF, 0xD8], .truncated, "2 bytes"),
    Row([0x89, 0x50, 0x4E], .truncated, "3 bytes"),
    Row("RIFF\u{8}\0\0\0WE", .truncated, "10 bytes"),
    Row("GIF89", .truncated, "5 bytes"),
    Row("GIF89a\u{1}\0\u{1}\0", .truncated, "GIF"),
    Row("GIF87a\u{1}\0\u{1}\0\0\0\0;", .damaged, "no frame"),
  ])
  func contentThatIsNotAnImageIsNamed(_ row: Row) throws {
    let data = Data(row.bytes)

    let decoding = #expect(throws: ImageError.self) { try ImageDecoder.decode(data) }
    let asking = #expect(throws: ImageError.self) { try ImageDecoder.info(data) }

    #expect(decoding?.kind == row.kind)
    #expect(decoding?.message.contains(row.says) == true, "\(decoding?.message ?? "")")
    #expect(asking == decoding)
  }

  @Test
  func messageDoesNotQuoteTheContent() {
    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(Data(#"{"token": "secret"}"#.utf8)) }

    #expect(error?.description.contains("secret") == false)
  }

  @Test
  func sliceOfDataIsReadFromItsStartIndex() throws {
    let padded = Data([1, 2, 3]) + (try Fixture.data("rgba.png"))

    #expect(try ImageDecoder.decode(padded.dropFirst(3)).size == PixelSize(width: 40, height: 30))
  }

  @Test(
    arguments: [
      (0xC3, 8, 3), (0xC5, 8, 3), (0xCB, 8, 3), (0xC1, 12, 3), (0xC0, 8, 2),
    ] as [(UInt8, UInt8, UInt8)])
  func rareKindOfJPEGIsUnsupportedAndNotDamaged(_ process: UInt8, _ precision: UInt8, _ components: UInt8) {
    let frame = [0xFF, process, 0, 17, precision, 0, 8, 0, 8, components] + [UInt8](repeating: 1, count: 9)
    let data = Data([0xFF, 0xD8] + frame + [0xFF, 0xD9])

    #expect(throws: ImageError.self) { try ImageDecoder.decode(data) }
    let error = #expect(throws: ImageError.self) { try ImageDecoder.info(data) }
    #expect(error?.kind == .unsupportedFormat)
  }
}

@Suite("Additional formats", .timeLimit(.minutes(5)))
struct AdditionalFormatTests {
  private struct Broken: Error {}

  /// `DOT`, width, height, red, green, blue.
  private static let dots = AdditionalFormat(
    ImageFormat(rawValue: "Dots"), recognizes: { $0.starts(with: Data("DOT".utf8)) },
    decode: { data, _ in
      let bytes = [UInt8](data)
      guard bytes.count >= 8 else { throw Broken() }
      let size = PixelSize(width: Int(bytes[3]), height: Int(bytes[4]))
      let pixels = (0..<size.width * size.height).flatMap { _ in bytes[5..<8] + [255] }
      return Bitmap(size: size, pixels: pixels)
    })

  private let file = Data("DOT".utf8) + [4, 2, 9, 8, 7]

  @Test
  func additionalFormatIsDecodedScaledAndDescribed() throws {
    let options = ImageDecoder.Options(fitting: PixelSize(width: 2, height: 2), additionalFormats: [Self.dots])

    #expect(try ImageDecoder.decode(file, options: options).pixels == [9, 8, 7, 255, 9, 8, 7, 255])
    #expect(try ImageDecoder.animation(file, options: options).frames.count == 1)
    let info = try ImageDecoder.info(file, options: options)
    #expect(info.format.rawValue == "Dots" && info.size == PixelSize(width: 4, height: 2))
    #expect(throws: ImageError.self) { try ImageDecoder.decode(file) }
  }

  @Test
  func errorOfAnAdditionalFormatBecomesAnImageError() {
    let options = ImageDecoder.Options(additionalFormats: [Self.dots])

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(file.prefix(5), options: options) }

    #expect(error?.kind == .damaged && error?.message.contains("Broken") == true)
  }

  @Test(arguments: [(0, 5), (5, 0), (-1, 5), (1 << 31, 1)])
  func additionalFormatWithoutPixelsOrWithTooManyIsDamaged(width: Int, height: Int) {
    let empty = AdditionalFormat(
      ImageFormat(rawValue: "Empty"), recognizes: { _ in true },
      decode: { _, _ in Bitmap(size: PixelSize(width: 0, height: 0), pixels: []) },
      size: { _ in PixelSize(width: width, height: height) })
    let options = ImageDecoder.Options(fitting: PixelSize(width: 2, height: 2), additionalFormats: [empty])

    let asking = #expect(throws: ImageError.self) { try ImageDecoder.info(file, options: options) }
    let decoding = #expect(throws: ImageError.self) { try ImageDecoder.decode(file, options: options) }

    #expect(asking?.kind == .damaged && decoding?.kind == .damaged)
    #expect(asking?.message.contains("\(width)×\(height)") == true, "\(asking?.message ?? "")")
  }

  @Test
  func additionalFormatPrecedesABuiltInOneAndDoesNotChangeOthers() throws {
    let own = AdditionalFormat(.png, recognizes: { $0.first == 0x89 }, decode: { _, _ in throw Broken() })
    let options = ImageDecoder.Options(additionalFormats: [own])

    #expect(throws: ImageError.self) { try ImageDecoder.decode(Fixture.data("rgba.png"), options: options) }
    #expect(try ImageDecoder.decode(Fixture.data("baseline.jpg"), options: options).size.width == 40)
  }
}
