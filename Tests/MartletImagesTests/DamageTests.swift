import MartletImages
import Testing

@Suite("Cut, damaged and hostile files", .timeLimit(.minutes(5)))
struct DamageTests {
  @Test(arguments: Fixture.allNames)
  func fileThatIsCutAnywhereIsAnErrorNeverHalfAPicture(_ name: String) throws {
    let data = try Fixture.data(name)
    let lengths = Set(stride(from: 0, to: data.count, by: max(1, data.count / 200))).union([data.count - 1])

    for length in lengths {
      let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data.prefix(length)) }
      let expected: [ImageError.Kind] = length == 0 ? [.empty] : length < 4 ? [.truncated, .notAnImage] : [.truncated]
      if let error { #expect(expected.contains(error.kind), "cut to \(length) of \(data.count): \(error)") }
    }
  }

  @Test(arguments: ["baseline.jpg", "coffee.jpg", "rgba.png", "lossy.webp", "lossless-alpha.webp", "animated.webp"])
  func beginningOfAFileIsEnoughForItsSize(_ name: String) throws {
    let data = try Fixture.data(name)
    let length = name == "coffee.jpg" ? 2000 : data.count * 9 / 10

    #expect(try ImageDecoder.info(data.prefix(length)).size == ImageDecoder.info(data).size)
  }

  @Test(arguments: Fixture.smallNames)
  func changedBytesGiveAPictureOfTheDeclaredSizeOrAnError(_ name: String) throws {
    let original = try Fixture.data(name)
    var random = SplitMix(seed: UInt64(original.count))
    let limits = ImageDecoder.Limits(pixels: 1_000_000, bytes: 4_000_000)
    let box = PixelSize(width: 9, height: 9)

    for _ in 0..<FuzzRounds.count {
      var data = original
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        data[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      let bitmap: Bitmap
      do {
        bitmap = try ImageDecoder.decode(data, options: .init(limits: limits))
      } catch {
        #expect(!error.message.isEmpty)
        continue
      }
      let small = try ImageDecoder.decode(data, options: .init(fitting: box, limits: limits)).size
      #expect(try ImageDecoder.info(data).size == bitmap.size)
      #expect(small.width <= box.width && small.height <= box.height)
    }
  }

  @Test(arguments: ["rgba.png", "interlaced.png", "palette.png", "grey16.png"])
  func wrongChecksumOfPNGPixelsIsDamage(_ name: String) throws {
    var data = try Fixture.data(name)
    let pixels = try #require(data.firstRange(of: Data("IDAT".utf8)))
    data[pixels.upperBound + 12] ^= 0x55

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data) }
    #expect(error?.kind == .damaged)
  }

  @Test(arguments: ["coffee.jpg", "baseline.jpg", "cmyk.jpg"])
  func missingPixelsOfAJPEGThatHasItsEndMarkerAreDamage(_ name: String) throws {
    let data = try Fixture.data(name)

    let hollow = data.prefix(data.count * 95 / 100) + Data([0xFF, 0xD9])

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(hollow) }
    #expect(error?.kind == .damaged)
  }

  @Test(arguments: ["baseline.jpg", "rgba.png", "lossy.webp"])
  func bytesBehindThePictureDoNoHarm(_ name: String) throws {
    let data = try Fixture.data(name)

    #expect(try ImageDecoder.decode(data + Data("trailer \u{FF}".utf8)) == ImageDecoder.decode(data))
  }

  @Test
  func fillingBeforeAJPEGsMarkerDoesNoHarm() throws {
    let data = try Fixture.data("baseline.jpg")
    let tables = try #require(data.firstRange(of: Data([0xFF, 0xDB])))

    var filled = data
    filled.insert(contentsOf: [0, 0, 0, 0xFF, 0xFF], at: tables.lowerBound)

    #expect(try ImageDecoder.decode(filled) == ImageDecoder.decode(data))
  }
}

/// How often a file is changed at random: MARTLET_FUZZ_ROUNDS says, 60 times without it.
private enum FuzzRounds {
  static let count = ProcessInfo.processInfo.environment["MARTLET_FUZZ_ROUNDS"].flatMap { Int($0) } ?? 60
}

/// A generator that gives the same numbers every time (SplitMix64).
private struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
