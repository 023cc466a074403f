import Testing

@testable import MartletImages

@Suite("Scaling", .timeLimit(.minutes(5)))
struct ScalingTests {
  struct Row: Sendable {
    let name: String
    let box: PixelSize
    let expected: PixelSize

    init(_ name: String, _ boxWidth: Int, _ boxHeight: Int, gives width: Int, _ height: Int) {
      self.name = name
      box = PixelSize(width: boxWidth, height: boxHeight)
      expected = PixelSize(width: width, height: height)
    }
  }

  @Test(arguments: [
    Row("coffee.jpg", 300, 300, gives: 300, 200),
    Row("coffee.jpg", 299, 1000, gives: 299, 199),
    Row("coffee.jpg", 75, 50, gives: 75, 50),
    Row("coffee.jpg", 1, 1, gives: 1, 1),
    Row("coffee.jpg", 600, 400, gives: 600, 400),
    Row("coffee.jpg", 6000, 6000, gives: 600, 400),
    Row("coffee.jpg", .max, .max, gives: 600, 400),
    Row("coffee.jpg", 0, -5, gives: 1, 1),
    Row("coffee.jpg", 600, 100, gives: 150, 100),
    Row("chelsea.webp", 100, 100, gives: 100, 67),
    Row("chelsea.webp", 1, 1, gives: 1, 1),
    Row("chelsea.webp", 450, 300, gives: 450, 299),
    Row("cameraman.png", 100, 50, gives: 50, 50),
    Row("cmyk.jpg", 15, 15, gives: 15, 11),
    Row("animated.webp", 15, 15, gives: 15, 11),
    Row("animated-offset.webp", 20, 20, gives: 20, 15),
    Row("orientation-6.jpg", 16, 16, gives: 16, 8),
    Row("orientation-5.jpg", 8, 16, gives: 8, 4),
    Row("orientation-6.png", 16, 4, gives: 8, 4),
    Row("orientation-8.webp", 16, 16, gives: 16, 8),
  ])
  func imageFitsExactlyIntoTheBoxAndKeepsItsColors(_ row: Row) throws {
    let data = try Fixture.data(row.name)

    let whole = try ImageDecoder.decode(data)
    let scaled = try ImageDecoder.decode(data, options: .init(fitting: row.box))

    #expect(scaled.size == row.expected)
    let isTransparent = whole.average[3] < 255
    if !isTransparent { #expect(isNear(scaled.average, whole.average, tolerance: 4)) }
    #expect(abs(scaled.average[3] - whole.average[3]) <= 4)
  }

  @Test(arguments: ["orientation-3.jpg", "orientation-6.jpg", "orientation-6.png", "orientation-8.webp"])
  func scaledImageIsUpright(_ name: String) throws {
    let bitmap = try ImageDecoder.decode(Fixture.data(name), options: .init(fitting: PixelSize(width: 4, height: 2)))

    #expect(bitmap.size == PixelSize(width: 4, height: 2))
    #expect(isNear(bitmap.pixel(atX: 0.1, y: 0.1), [220, 30, 30, 255], tolerance: 6))
    #expect(isNear(bitmap.pixel(atX: 0.9, y: 0.1), [30, 200, 40, 255], tolerance: 6))
    #expect(isNear(bitmap.pixel(atX: 0.1, y: 0.9), [40, 50, 210, 255], tolerance: 6))
    #expect(isNear(bitmap.pixel(atX: 0.9, y: 0.9), [240, 220, 60, 255], tolerance: 6))
  }

  @Test
  func newPixelIsTheAverageOfItsAreaIncludingFractionsOfPixels() {
    let line = Bitmap(
      size: PixelSize(width: 3, height: 1), pixels: [0, 90, 180].flatMap { [UInt8]([$0, $0, $0, 255]) })

    let scaled = line.shrunk(to: PixelSize(width: 2, height: 1))

    #expect(scaled.pixels == [30, 30, 30, 255, 150, 150, 150, 255])
  }

  @Test
  func averageWorksInBothDirections() {
    let values: [UInt8] = [0, 40, 80, 120, 100, 140, 180, 220, 10, 10, 20, 20, 30, 30, 40, 40]
    let square = Bitmap(size: PixelSize(width: 4, height: 4), pixels: values.flatMap { [$0, $0, $0, 255] })

    let scaled = square.shrunk(to: PixelSize(width: 2, height: 2))

    #expect(stride(from: 0, to: 16, by: 4).map { scaled.pixels[$0] } == [70, 150, 20, 30])
  }

  @Test
  func colorOfTransparentPixelsHasNoEffect() {
    let pair = Bitmap(size: PixelSize(width: 2, height: 1), pixels: [255, 0, 0, 0, 0, 0, 200, 255])

    let scaled = pair.shrunk(to: PixelSize(width: 1, height: 1))

    #expect(scaled.pixels == [0, 0, 200, 128])
  }
}
