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

  /// Glide 3484: some programs write an orientation only for the thumbnail, in the second directory.
  @Test
  func orientationOfTheThumbnailDoesNotCount() {
    let second = Self.tiff().dropFirst(8)
    let first = Array(Self.tiff(tag: [1, 0x13]).dropLast(4)) + [0, 0, 0, 26]

    #expect(orientation(first + second) == .up)
  }

  /// Programs that copy pictures add a second block. Each file here has 6 or 8 in its own, after or before 1.
  @Test(arguments: ["orientation-6.jpg", "orientation-6.png", "orientation-8.webp"], [true, false])
  func firstOfTwoBlocksCounts(_ name: String, isOwnFirst: Bool) throws {
    let data = try Fixture.data(name)
    let up = Self.tiff(value: 1)
    func number(_ count: Int, _ shifts: [Int]) -> [UInt8] { shifts.map { UInt8(truncatingIfNeeded: count >> $0) } }
    let added: [UInt8]
    let own: Range<Data.Index>
    switch name.suffix(4) {
    case ".jpg":
      added = [0xFF, 0xE1] + number(up.count + 8, [8, 0]) + Array("Exif\0\0".utf8) + up
      let start = try #require(data.firstRange(of: Data([0xFF, 0xE1]))).lowerBound
      own = start..<start + 2 + Int(data[start + 2]) << 8 + Int(data[start + 3])
    case ".png":
      added = number(up.count, [24, 16, 8, 0]) + Array("eXIf".utf8) + up + [0, 0, 0, 0]
      let start = try #require(data.firstRange(of: Data("eXIf".utf8))).lowerBound - 4
      own = start..<start + 12 + Int(data[start + 2]) << 8 + Int(data[start + 3])
    default:
      added = Array("EXIF".utf8) + number(up.count, [0, 8, 16, 24]) + up
      let start = try #require(data.firstRange(of: Data("EXIF".utf8))).lowerBound
      let length = Int(data[start + 4]) + Int(data[start + 5]) << 8
      own = start..<start + 8 + length + length % 2
    }
    var file = data
    file.insert(contentsOf: added, at: isOwnFirst ? own.upperBound : own.lowerBound)
    if name.hasSuffix(".webp") {
      file.replaceSubrange(4..<8, with: number(file.count - 8, [0, 8, 16, 24]))
    }

    let expected = try isOwnFirst ? ImageDecoder.info(data).orientation : .up
    #expect(try ImageDecoder.info(file).orientation == expected)
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
