import MartletImages
import Testing

@Suite("Formats of one's own", .timeLimit(.minutes(5)))
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
  func itsErrorIsOneOfOurs() {
    let options = ImageDecoder.Options(additionalFormats: [Self.dots])

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(file.prefix(5), options: options) }

    #expect(error?.kind == .damaged && error?.message.contains("Broken") == true)
  }

  @Test
  func additionalFormatComesBeforeABuiltInOneAndLeavesTheOthersAlone() throws {
    let own = AdditionalFormat(.png, recognizes: { $0.first == 0x89 }, decode: { _, _ in throw Broken() })
    let options = ImageDecoder.Options(additionalFormats: [own])

    #expect(throws: ImageError.self) { try ImageDecoder.decode(Fixture.data("rgba.png"), options: options) }
    #expect(try ImageDecoder.decode(Fixture.data("baseline.jpg"), options: options).size.width == 40)
  }
}
