import Testing

@testable import MartletImages

@Suite("EXIF orientation", .timeLimit(.minutes(5)))
struct OrientationTests {
  /// A TIFF structure with one entry.
  private static func tiff(
    bigEndian: Bool = true, tag: [UInt8] = [1, 0x12], type: UInt8 = 3, value: UInt8 = 6
  ) -> [UInt8] {
    bigEndian
      ? [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1] + tag + [0, type, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0]
      : [0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0] + tag.reversed() + [type, 0, 1, 0, 0, 0, value, 0, 0, 0, 0, 0, 0, 0]
  }

  private func orientation(_ block: [UInt8]) -> ImageOrientation {
    block.withUnsafeBytes { ImageOrientation(exif: Bytes(buffer: $0)) }
  }

  @Test(arguments: ImageOrientation.allCases)
  func everyOrientationIsReadAndReported(_ expected: ImageOrientation) throws {
    let info = try ImageDecoder.info(Fixture.data("orientation-\(expected.rawValue).jpg"))

    #expect(info.orientation == expected)
    #expect(info.size == PixelSize(width: 32, height: 16))
  }

  @Test(arguments: [("orientation-6.png", ImageOrientation.right), ("orientation-8.webp", .left)])
  func orientationIsReadFromPNGAndWebP(_ name: String, _ expected: ImageOrientation) throws {
    #expect(try ImageDecoder.info(Fixture.data(name)).orientation == expected)
  }

  @Test(arguments: ImageOrientation.allCases)
  func uprightImageHasEveryPixelInItsPlace(_ orientation: ImageOrientation) {
    // 3×2 pixels, numbered row by row, and the upright image that EXIF 2.32 §4.6.5.1 defines.
    let numbers = (0..<6).flatMap { [UInt8](repeating: $0, count: 4) }
    let stored = Bitmap(size: PixelSize(width: 3, height: 2), pixels: numbers)
    let expected: [[UInt8]] =
      switch orientation {
      case .up: [[0, 1, 2], [3, 4, 5]]
      case .upMirrored: [[2, 1, 0], [5, 4, 3]]
      case .down: [[5, 4, 3], [2, 1, 0]]
      case .downMirrored: [[3, 4, 5], [0, 1, 2]]
      case .leftMirrored: [[0, 3], [1, 4], [2, 5]]
      case .right: [[3, 0], [4, 1], [5, 2]]
      case .rightMirrored: [[5, 2], [4, 1], [3, 0]]
      case .left: [[2, 5], [1, 4], [0, 3]]
      }

    let upright = orientation.upright(stored)

    #expect(upright.size == PixelSize(width: expected[0].count, height: expected.count))
    #expect(upright.pixels == expected.joined().flatMap { [$0, $0, $0, $0] })
  }

  @Test(arguments: [true, false])
  func bothByteOrdersAndThePrefixAreRead(_ bigEndian: Bool) {
    #expect(orientation(Self.tiff(bigEndian: bigEndian)) == .right)
    #expect(orientation(Array("Exif\0\0".utf8) + Self.tiff(bigEndian: bigEndian)) == .right)
  }

  private static let malformedBlocks: [[UInt8]] = [
    [], Array("Exif\0\0".utf8), Array("MM\0*".utf8),
    tiff(value: 0), tiff(value: 9), tiff(type: 2), tiff(tag: [1, 0x13]),
    [0x4D, 0x4D, 0, 42, 0xFF, 0xFF, 0xFF, 0xFF, 0, 1], [0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0xFF, 0xFF],
    [0x4D, 0x4D, 0, 42, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 30), [0x4D, 0x49] + tiff().dropFirst(2),
  ]

  @Test(arguments: malformedBlocks)
  func malformedBlockMeansUp(_ block: [UInt8]) {
    #expect(orientation(block) == .up)
  }

  @Test
  func truncatedBlockMeansUp() {
    let block = Self.tiff()
    // The value ends at byte 20.
    for length in 0...block.count {
      #expect(orientation(Array(block.prefix(length))) == (length >= 20 ? .right : .up))
    }
  }
}
