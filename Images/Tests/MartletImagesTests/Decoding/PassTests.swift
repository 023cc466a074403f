import MartletImages
import Testing

/// A small file may have many passes over many pixels.
@Suite("Pixels times passes", .timeLimit(.minutes(5)))
struct PassTests {
  /// Returns a JPEG with another declared size, and its last scan repeated.
  private func bomb(_ name: String, width: UInt16, height: UInt16, scans: Int) throws -> Data {
    var data = try Fixture.data(name)
    let start = try #require(data.firstRange(of: Data([0xFF, 0xC2])) ?? data.firstRange(of: Data([0xFF, 0xC0])))
    let sides = [UInt8(height >> 8), UInt8(height & 255), UInt8(width >> 8), UInt8(width & 255)]
    data.replaceSubrange(start.lowerBound + 5..<start.lowerBound + 9, with: sides)
    let scan = data[try #require(data.lastRange(of: Data([0xFF, 0xDA]))).lowerBound..<data.endIndex - 2]
    return data.dropLast(2) + (0..<scans).reduce(into: Data()) { all, _ in all += scan } + Data([0xFF, 0xD9])
  }

  @Test func progressiveJPEGWithManyScansOverManyPixelsIsRefused() throws {
    let bomb = try bomb("progressive.jpg", width: 10_000, height: 10_000, scans: 80)

    for fitting in [nil, PixelSize(width: 64, height: 64)] {
      let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(bomb, options: .init(fitting: fitting)) }
      #expect(error?.kind == .tooLarge)
      #expect(error?.message.contains("Limits.sourcePixels") == true)
    }
  }

  /// One pass over 40×30 pixels, or 37×23. A scan of one component is a part of a pass, rounded down.
  @Test(arguments: [("baseline.jpg", 1200), ("not-interleaved.jpg", 849), ("grey.jpg", 1200)])
  func scansCountInProportionToTheirComponents(_ name: String, count: Int) throws {
    let data = try Fixture.data(name)
    var options = ImageDecoder.Options()

    options.limits.sourcePixels = count
    _ = try ImageDecoder.decode(data, options: options)

    options.limits.sourcePixels = count - 1
    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data, options: options) }
    #expect(error?.message.contains("Limits.sourcePixels") == true)
  }

  @Test func previewsTogetherReadNoMoreThanTheLimit() throws {
    let data = try Fixture.data("coffee.jpg")
    func previews(_ limit: Int) -> Int {
      var options = ImageDecoder.Options(fitting: PixelSize(width: 60, height: 60))
      options.limits.sourcePixels = limit
      var decoder = ProgressiveDecoder(options: options)
      return stride(from: 0, to: data.count, by: 500).count { decoder.append(data[$0...].prefix(500)) != nil }
    }

    let all = previews(1_000_000_000)
    #expect(all >= 3)
    #expect(previews(2 * 600 * 400) < all)
    #expect(previews(100) == 0)
  }

  @Test(arguments: [("coffee.jpg", 1_000_000), ("lossless-alpha.webp", 4 * 40 * 30), ("animated.webp", 8 * 40 * 30)])
  func memoryOfACodecIsLimitedBeforeItIsTaken(_ name: String, enough: Int) throws {
    let data = try Fixture.data(name)
    var options = ImageDecoder.Options(fitting: PixelSize(width: 8, height: 8))

    options.limits.codecBytes = enough
    #expect(try !ImageDecoder.animation(data, options: options).frames.isEmpty)

    options.limits.codecBytes = enough / 2
    let error = #expect(throws: ImageError.self) { try ImageDecoder.animation(data, options: options) }
    #expect(error?.kind == .tooLarge)
    #expect(error?.message.contains("Limits.codecBytes") == true)
  }

  @Test(arguments: ["baseline.jpg", "rgba.png", "one87.gif", "lossy.webp"])
  func filesThatAreReadRowByRowNeedNoMemoryOfTheirCodec(_ name: String) throws {
    var options = ImageDecoder.Options()
    options.limits.codecBytes = 0

    _ = try ImageDecoder.decode(Fixture.data(name), options: options)
  }

  @Test func pixelsOfAJPEGCountAsTheyAreDecoded() throws {
    let data = try Fixture.data("coffee.jpg")
    var options = ImageDecoder.Options(fitting: PixelSize(width: 60, height: 60), limits: .init(pixels: 75 * 50))

    #expect(try ImageDecoder.decode(data, options: options).size == PixelSize(width: 60, height: 40))

    options.limits.pixels -= 1
    for fitting in [options.fitting, PixelSize(width: 80, height: 80), nil] {
      options.fitting = fitting
      let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data, options: options) }
      #expect(error?.message.contains("Limits.pixels") == true)
    }
  }

  /// A grey JPEG whose blocks have two bits each: no difference to the last one, and no more coefficients.
  @Test(arguments: [(12_000, 9_000), (16_320, 12_240)])
  func photographOfAPhoneIsScaledWithinTheDefaultLimits(width: Int, height: Int) throws {
    func two(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
    let quantization = [0xFF, 0xDB, 0, 67, 0] + [UInt8](repeating: 1, count: 64)
    let frame = [0xFF, 0xC0, 0, 11, 8] + two(height) + two(width) + [1, 1, 0x11, 0]
    let code = [1] + [UInt8](repeating: 0, count: 15) + [0]
    let codes = [0xFF, 0xC4, 0, 20, 0] + code + [0xFF, 0xC4, 0, 20, 0x10] + code
    let count = (width + 7) / 8 * ((height + 7) / 8)
    let head = [0xFF, 0xD8] + quantization + frame + codes + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0]
    let file = Data(head) + Data(count: (count * 2 + 7) / 8) + Data([0xFF, 0xD9])
    let eighth = PixelSize(width: (width + 7) / 8, height: (height + 7) / 8)

    let bitmap = try ImageDecoder.decode(file, options: .init(fitting: eighth))

    #expect(bitmap.size == eighth)
    #expect(bitmap.pixels.prefix(4) == [128, 128, 128, 255])
    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(file) }
    #expect(error?.kind == .tooLarge)
  }
}
