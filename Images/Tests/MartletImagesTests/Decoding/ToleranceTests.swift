import MartletImages
import Testing

@Suite("Incomplete and damaged files that are shown", .timeLimit(.minutes(5)))
struct ToleranceTests {
  private static let tolerant = {
    var options = ImageDecoder.Options()
    options.isTolerant = true
    return options
  }()

  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let name: String
    let kind: ImageError.Kind
    let change: @Sendable (Data) -> Data

    init(
      _ description: String, _ name: String, _ kind: ImageError.Kind, change: @escaping @Sendable (Data) -> Data
    ) {
      (testDescription, self.name, self.kind, self.change) = (description, name, kind, change)
    }
  }

  static let rows = [
    Row("a baseline JPEG without its last rows", "baseline.jpg", .truncated) { $0.dropLast(100) },
    Row("a baseline JPEG with zero bytes in place of its last rows", "baseline.jpg", .truncated) {
      $0.dropLast(60) + Data(count: 1000)
    },
    Row("a baseline JPEG with zero bytes after its scan", "baseline.jpg", .truncated) {
      $0.dropLast(2) + Data(count: 99)
    },
    Row("a baseline JPEG whose scan ends early", "baseline.jpg", .damaged) { $0.dropLast(100) + $0.suffix(2) },
    Row("a progressive JPEG without its last scans", "coffee.jpg", .truncated) { $0.prefix($0.count / 2) },
    Row("a progressive JPEG without its end marker", "coffee.jpg", .truncated) { $0.dropLast(2) },
    Row("an arithmetic JPEG without its end", "arithmetic-2x2.jpg", .truncated) { $0.dropLast(20) },
    Row("a PNG without its end chunk", "cameraman.png", .truncated) { $0.dropLast(12) },
    Row("a PNG without its last rows", "cameraman.png", .truncated) { $0.prefix($0.count / 2) },
    Row("a PNG with a wrong checksum", "cameraman.png", .damaged) { changing($0, at: $0.count - 13) },
    Row("a PNG whose pixels have a wrong checksum", "rgba.png", .damaged) {
      withChecksums(changing($0, at: $0.count - 17))
    },
    Row("an interlaced PNG without its last passes", "interlaced.png", .truncated) { $0.prefix($0.count * 3 / 4) },
    Row("a GIF cut in its only frame", "one87.gif", .truncated) { $0.dropLast(300) },
    Row("a GIF cut in its last frame", "parts.gif", .truncated) { $0.dropLast(30) },
    Row("a lossy WebP without its last rows", "chelsea.webp", .truncated) { $0.prefix($0.count / 2) },
    Row("an animated WebP without its last frame", "animated.webp", .truncated) { $0.dropLast(20) },
  ]

  @Test(arguments: rows) func fileIsShownAsFarAsItGoesWithANote(_ row: Row) throws {
    let whole = try Fixture.data(row.name)
    let file = row.change(whole)
    var defect: ImageError?

    let strict = #expect(throws: ImageError.self) { try ImageDecoder.decode(file) }
    let shown = try ImageDecoder.decode(file, options: Self.tolerant, defect: &defect)

    #expect(strict?.kind == row.kind)
    #expect(defect == strict)
    let expected = try ImageDecoder.decode(whole)
    #expect(shown.size == expected.size)
    #expect(isNear(Array(shown.pixels.prefix(4).map(Int.init)), expected.pixels.prefix(4).map(Int.init), tolerance: 40))
    let animation = try ImageDecoder.animation(file, options: Self.tolerant)
    #expect(animation.defect != nil)
    #expect(animation.frames.first?.bitmap == shown)
  }

  @Test(arguments: Fixture.allNames) func wholeFileHasNoDefect(_ name: String) throws {
    let data = try Fixture.data(name)
    var defect: ImageError? = ImageError(.empty, "of another file")

    let shown = try ImageDecoder.decode(data, options: Self.tolerant, defect: &defect)

    #expect(defect == nil)
    #expect(try shown == ImageDecoder.decode(data))
    #expect(try ImageDecoder.animation(data, options: Self.tolerant) == ImageDecoder.animation(data))
  }

  /// Missing pixels: grey in a JPEG, transparent elsewhere.
  @Test(arguments: [("baseline.jpg", [128, 128, 128, 255]), ("cameraman.png", [0, 0, 0, 0])])
  func missingPixelsAreEmpty(_ name: String, pixel: [Int]) throws {
    let data = try Fixture.data(name)

    let shown = try ImageDecoder.decode(data.prefix(data.count * 3 / 4), options: Self.tolerant)

    #expect(isNear(shown.pixel(atX: 0.9, y: 0.95), pixel, tolerance: 8))
  }

  @Test(arguments: ["coffee.jpg", "cameraman.png", "one87.gif", "chelsea.webp"])
  func fileWithoutOneRowIsAnErrorAllTheSame(_ name: String) throws {
    let data = try Fixture.data(name)

    for length in [0, 3, 20, 30] {
      #expect(throws: ImageError.self) { try ImageDecoder.decode(data.prefix(length), options: Self.tolerant) }
    }
  }

  @Test func limitsAreNotTolerated() throws {
    var options = Self.tolerant
    options.limits.pixels = 100

    let error = #expect(throws: ImageError.self) {
      try ImageDecoder.decode(Fixture.data("coffee.jpg").prefix(9000), options: options)
    }
    #expect(error?.kind == .tooLarge)
  }

  private static func changing(_ data: Data, at index: Int) -> Data {
    var data = data
    data[data.startIndex + index] ^= 0x55
    return data
  }

  /// Returns a PNG with the right checksums of its chunks (PNG 3rd edition Annex D).
  private static func withChecksums(_ data: Data) -> Data {
    var data = [UInt8](data)
    var position = 8
    while position < data.count {
      let length = data[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
      var sum = UInt32.max
      for byte in data[position + 4..<position + 8 + length] {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
      }
      for index in 0..<4 { data[position + 8 + length + index] = UInt8(truncatingIfNeeded: ~sum >> (24 - 8 * index)) }
      position += 12 + length
    }
    return Data(data)
  }
}
