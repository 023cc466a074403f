import MartletImages
import Testing

@Suite("Limits", .timeLimit(.minutes(5)))
struct LimitTests {
  /// Files of a few dozen bytes that declare huge images.
  private static let bombs: [(String, [UInt8])] = [
    (
      "PNG of 2147483647×2147483647",
      [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
        + [0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 8, 6, 0, 0, 0, 0, 0, 0, 0]
    ),
    (
      "JPEG of 65535×65535",
      [0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1, 0x11, 0]
        + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0xFF, 0xD9]
    ),
    (
      "WebP of 16777216×16777216",
      Array("RIFF".utf8) + [22, 0, 0, 0] + Array("WEBPVP8X".utf8) + [10, 0, 0, 0, 2, 0, 0, 0]
        + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]
    ),
  ]

  @Test(arguments: bombs)
  func hugeDeclaredSizeIsRefusedBeforeMemoryIsAllocated(_ name: String, _ bytes: [UInt8]) {
    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(Data(bytes)) }

    #expect(error?.kind == .tooLarge)
    #expect(error?.message.contains("Limits.pixels") == true)
  }

  @Test(arguments: bombs)
  func sizeWhoseBytesOverflowIsRefusedWithoutLimitsToo(_ name: String, _ bytes: [UInt8]) {
    let none = ImageDecoder.Limits(pixels: .max, bytes: 1 << 30)

    #expect(throws: ImageError.self) { try ImageDecoder.decode(Data(bytes), options: .init(limits: none)) }
  }

  @Test(arguments: ["baseline.jpg", "rgba.png", "lossy.webp", "animated-offset.webp"])
  func imageOfExactlyTheLimitsIsDecodedAndALargerOneIsNot(_ name: String) throws {
    let data = try Fixture.data(name)
    let area = 40 * 30

    let exact = ImageDecoder.Limits(pixels: area, bytes: area * 4)
    #expect(try ImageDecoder.decode(data, options: .init(limits: exact)).size == PixelSize(width: 40, height: 30))

    for limits in [ImageDecoder.Limits(pixels: area - 1), .init(bytes: area * 4 - 1), .init(pixels: -1)] {
      let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data, options: .init(limits: limits)) }
      #expect(error?.kind == .tooLarge)
    }
  }

  @Test(arguments: ["coffee.jpg", "chelsea.webp"])
  func scalingWhileDecodingStaysWithinALimitThatTheFullSizeExceeds(_ name: String) throws {
    let options = ImageDecoder.Options(
      fitting: PixelSize(width: 60, height: 60), limits: .init(bytes: 100_000))

    #expect(try ImageDecoder.decode(Fixture.data(name), options: options).size.width == 60)
  }

  @Test
  func jpegOfHundredsOfScansIsRefused() throws {
    let data = try Fixture.data("progressive.jpg")
    let lastScan = try #require(data.lastRange(of: Data([0xFF, 0xDA])))
    let scan = data[lastScan.lowerBound..<data.endIndex - 2]

    let bomb = data.dropLast(2) + (0..<200).reduce(into: Data()) { all, _ in all += scan } + Data([0xFF, 0xD9])

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(bomb) }
    #expect(error?.kind == .tooLarge)
  }
}
