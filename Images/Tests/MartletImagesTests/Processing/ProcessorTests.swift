import MartletImages
import TestSupport
import Testing

@Suite("Processors", .timeLimit(.minutes(5)))
struct ProcessorTests {
  /// Grey pixels of these values, row by row.
  private func greys(_ width: Int, _ values: [UInt8]) -> Bitmap {
    Bitmap(
      size: PixelSize(width: width, height: values.count / width), pixels: values.flatMap { [$0, $0, $0, 255] })
  }

  private func values(_ bitmap: Bitmap, channel: Int = 0) -> [Int] {
    stride(from: channel, to: bitmap.pixels.count, by: 4).map { Int(bitmap.pixels[$0]) }
  }

  @Test(arguments: [
    (ImageProcessors.Resize(width: 20, height: 20), 20, 10), (.init(width: 20, height: 20, mode: .fill), 20, 20),
    (.init(width: 20, height: 20, mode: .stretch), 20, 20), (.init(width: 80, height: 80), 40, 20),
    (.init(width: 80, height: 80, enlarges: true), 80, 40), (.init(width: 80, height: 80, mode: .fill), 40, 20),
    (.init(width: 80, height: 80, mode: .fill, enlarges: true), 80, 80),
    (.init(width: 30, height: 60, mode: .fill), 30, 20),
    (.init(width: 10, height: 50, mode: .stretch, enlarges: true), 10, 50), (.init(width: 0, height: -3), 1, 1),
  ])
  func sizeFollowsTheMode(_ resize: ImageProcessors.Resize, _ width: Int, _ height: Int) throws {
    let bitmap = greys(40, [UInt8](repeating: 77, count: 800))

    let result = try resize.process(bitmap)

    #expect(result.size == PixelSize(width: width, height: height))
    #expect(values(result).allSatisfy { $0 == 77 })
  }

  @Test
  func fillModeShowsTheCentre() throws {
    let bitmap = greys(4, [0, 100, 200, 50, 0, 100, 200, 50])

    #expect(
      try values(ImageProcessors.Resize(width: 2, height: 2, mode: .fill).process(bitmap)) == [100, 200, 100, 200])
    #expect(values(ImageProcessors.Crop(width: 2, height: 1).process(bitmap)) == [100, 200])
    #expect(ImageProcessors.Crop(width: 9, height: 9).process(bitmap) == bitmap)
  }

  @Test
  func enlargedPixelsAreInterpolated() throws {
    let result = try ImageProcessors.Resize(width: 4, height: 1, mode: .stretch, enlarges: true)
      .process(greys(2, [0, 100]))

    #expect(values(result) == [0, 25, 75, 100])
  }

  @Test
  func sizeAboveTheLimitOfMemoryIsAnError() {
    let huge = ImageProcessors.Resize(width: .max / 2, height: .max / 2, mode: .stretch, enlarges: true)

    #expect(throws: ImageError.self) { try huge.process(greys(1, [1])) }
  }

  /// If the image were enlarged first, it would take 1.6 GB.
  @Test
  func sideThatShrinksIsShrunkBeforeTheOtherIsEnlarged() async {
    await #expect(processExitsWith: .success) {
      let size = PixelSize(width: 400_000, height: 10)
      let wide = Bitmap(size: size, pixels: [UInt8](repeating: 200, count: 16_000_000))
      let before = peakMemory()
      let resize = ImageProcessors.Resize(width: 1000, height: 1000, mode: .stretch, enlarges: true)
      let result = try resize.process(wide)
      struct TooMuchMemory: Error {}
      guard peakMemory() - before < 100_000_000, result.pixels.allSatisfy({ $0 == 200 }) else { throw TooMuchMemory() }
    }
  }

  @Test
  func extremeSettingsNeitherTrapNorHang() throws {
    let bitmap = greys(2, [0, 0, 0, 0, 200, 200])

    #expect(throws: ImageError.self) {
      try ImageProcessors.Resize(width: .max, height: .max, mode: .fill, enlarges: true).process(bitmap)
    }
    #expect(try ImageProcessors.Resize(width: .max, height: .max, mode: .fill).process(bitmap) == bitmap)
    #expect(ImageProcessors.RoundedCorners(radius: .max).process(bitmap).size == bitmap.size)
    #expect(ImageProcessors.Blur(radius: .max).process(bitmap).size == bitmap.size)
  }

  @Test
  func circleIsRoundAndAntialiased() {
    let result = ImageProcessors.Circle().process(greys(60, [UInt8](repeating: 9, count: 60 * 40)))
    let alpha = values(result, channel: 3)

    #expect(result.size == PixelSize(width: 40, height: 40))
    #expect(alpha[0] == 0 && alpha[20 * 40 + 20] == 255 && alpha[20] > 250)
    let covered = Double(alpha.reduce(0, +)) / 255
    #expect(abs(covered - 3.14159 * 400) < 4)
    #expect(alpha == alpha.reversed())
    #expect(alpha.contains { (1...254).contains($0) })
  }

  @Test(arguments: [(0, 1600.0), (10, 1600 - 0.8584 * 100), (99, 3.14159 * 400)])
  func roundedCornersRemoveTheAreaOutsideOfTheirCircles(_ radius: Int, _ expected: Double) {
    let result = ImageProcessors.RoundedCorners(radius: radius).process(greys(40, [UInt8](repeating: 9, count: 1600)))

    #expect(abs(Double(values(result, channel: 3).reduce(0, +)) / 255 - expected) < 4)
  }

  @Test
  func blurSpreadsAndKeepsTheTotal() {
    var line = [UInt8](repeating: 0, count: 41)
    line[20] = 250
    let blur = ImageProcessors.Blur(radius: 6)

    let result = values(blur.process(greys(41, line)))

    #expect(result == result.reversed())
    #expect(abs(result.reduce(0, +) - 250) < 12)
    #expect(zip(result.prefix(21), result.prefix(21).dropFirst()).allSatisfy { $0 <= $1 })
    #expect(result[20] < 60 && result[14] > 0)
    let plain = greys(5, [UInt8](repeating: 90, count: 25))
    #expect(blur.process(plain) == plain)
    #expect(ImageProcessors.Blur(radius: 0).process(greys(41, line)) == greys(41, line))
  }

  @Test
  func colorOfTransparentPixelsHasNoEffect() throws {
    let pair = Bitmap(size: PixelSize(width: 2, height: 1), pixels: [255, 0, 0, 0, 0, 0, 200, 255])

    let processors: [any ImageProcessor] = [
      ImageProcessors.Blur(radius: 4), ImageProcessors.Resize(width: 7, height: 7, mode: .stretch, enlarges: true),
    ]
    for processor in processors { #expect(try values(processor.process(pair)).allSatisfy { $0 == 0 }) }
  }

  @Test
  func compositionAppliesInOrderAndItsIdentifierNamesAll() throws {
    let composition = ImageProcessors.Composition([
      ImageProcessors.Resize(width: 20, height: 20, mode: .fill), ImageProcessors.Circle(),
    ])

    let result = try composition.process(greys(40, [UInt8](repeating: 5, count: 40 * 60)))

    #expect(result.size == PixelSize(width: 20, height: 20) && result.pixels[3] == 0)
    #expect(composition.identifier == "[resize(20×20, fill), circle]")
    #expect(ImageProcessors.Blur(radius: 3).identifier != ImageProcessors.Blur(radius: 4).identifier)
    #expect(try ImageProcessors.Composition([]).process(result) == result)
  }
}
