import MartletImages
import Testing

/// The result of another decoder (Pillow, with the same rules: upright, in sRGB, gamma ignored) for a fixture.
struct Golden: Sendable, CustomTestStringConvertible {
  let name: String
  let size: PixelSize
  let average: [Int]
  /// The pixels at a quarter and three quarters of width and height: two of the upper row, two of the lower.
  let probes: [[Int]]

  init(_ name: String, _ width: Int, _ height: Int, average: [Int], probes: [[Int]]) {
    self.name = name
    self.size = PixelSize(width: width, height: height)
    self.average = average
    self.probes = probes
  }

  var testDescription: String { name }

  static let table = [
    Golden(
      "adobe-rgb.jpg", 37, 23,
      average: [117, 126, 126, 255],
      probes: [[61, 55, 56, 255], [223, 54, 127, 255], [0, 198, 128, 255], [190, 198, 194, 255]]),
    Golden(
      "adobe-rgb.webp", 37, 23,
      average: [116, 126, 126, 192],
      probes: [[63, 54, 58, 224], [221, 54, 127, 160], [0, 198, 127, 224], [190, 198, 195, 160]]),
    Golden(
      "animated-offset.webp", 40, 30,
      average: [14, 13, 14, 45],
      probes: [[15, 9, 16, 242], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    Golden(
      "animated.webp", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[65, 61, 63, 255], [196, 61, 138, 255], [65, 193, 120, 255], [196, 193, 195, 255]]),
    Golden(
      "arithmetic-2x2.jpg", 37, 23,
      average: [127, 127, 127, 255],
      probes: [[63, 57, 61, 255], [192, 57, 126, 255], [62, 197, 130, 255], [192, 196, 195, 255]]),
    Golden(
      "baseline.jpg", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[66, 61, 65, 255], [194, 62, 138, 255], [65, 192, 121, 255], [194, 194, 194, 255]]),
    Golden(
      "cameraman.png", 512, 512,
      average: [129, 129, 129, 255],
      probes: [[32, 32, 32, 255], [210, 210, 210, 255], [27, 27, 27, 255], [170, 170, 170, 255]]),
    Golden(
      "chelsea.webp", 451, 300,
      average: [148, 112, 87, 255],
      probes: [[139, 99, 63, 255], [149, 116, 84, 255], [151, 108, 81, 255], [149, 117, 89, 255]]),
    Golden(
      "cmyk-profile.jpg", 37, 23,
      average: [143, 137, 136, 255],
      probes: [[105, 90, 83, 255], [188, 96, 134, 255], [118, 196, 148, 255], [169, 187, 186, 255]]),
    Golden(
      "cmyk.jpg", 40, 30,
      average: [143, 143, 143, 255],
      probes: [[100, 98, 100, 255], [199, 80, 149, 255], [83, 197, 133, 255], [199, 198, 199, 255]]),
    Golden(
      "coffee.jpg", 600, 400,
      average: [159, 86, 52, 255],
      probes: [[182, 47, 17, 255], [211, 116, 62, 255], [140, 25, 7, 255], [199, 63, 21, 255]]),
    Golden(
      "display-p3.png", 37, 23,
      average: [118, 123, 125, 192],
      probes: [[62, 54, 58, 224], [209, 34, 127, 160], [0, 202, 125, 224], [191, 199, 195, 160]]),
    Golden(
      "gamma.png", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[65, 61, 63, 255], [196, 61, 138, 255], [65, 193, 120, 255], [196, 193, 195, 255]]),
    Golden(
      "grey-alpha.png", 40, 30,
      average: [127, 127, 127, 128],
      probes: [[61, 61, 61, 190], [61, 61, 61, 59], [193, 193, 193, 190], [193, 193, 193, 59]]),
    Golden(
      "grey-profile.jpg", 37, 23,
      average: [160, 160, 160, 255],
      probes: [[101, 101, 101, 255], [146, 146, 146, 255], [183, 183, 183, 255], [216, 216, 216, 255]]),
    Golden(
      "grey-profile.png", 37, 23,
      average: [160, 160, 160, 192],
      probes: [[101, 101, 101, 224], [146, 146, 146, 160], [183, 183, 183, 224], [216, 216, 216, 160]]),
    Golden(
      "grey-transparent.png", 40, 30,
      average: [102, 102, 102, 177],
      probes: [[51, 51, 51, 255], [102, 102, 102, 0], [102, 102, 102, 0], [153, 153, 153, 255]]),
    Golden(
      "grey.jpg", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[63, 63, 63, 255], [110, 110, 110, 255], [146, 146, 146, 255], [194, 194, 194, 255]]),
    Golden(
      "grey1.png", 40, 30,
      average: [128, 128, 128, 255],
      probes: [[255, 255, 255, 255], [0, 0, 0, 255], [255, 255, 255, 255], [0, 0, 0, 255]]),
    Golden(
      "grey16.png", 40, 30,
      average: [128, 128, 128, 255],
      probes: [[65, 65, 65, 255], [196, 196, 196, 255], [65, 65, 65, 255], [196, 196, 196, 255]]),
    Golden(
      "interlaced.gif", 37, 23,
      average: [127, 127, 127, 255],
      probes: [[67, 57, 62, 255], [202, 57, 129, 255], [67, 197, 132, 255], [202, 197, 199, 255]]),
    Golden(
      "interlaced.png", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[65, 61, 63, 255], [196, 61, 138, 255], [65, 193, 120, 255], [196, 193, 195, 255]]),
    Golden(
      "lossless-alpha.webp", 40, 30,
      average: [127, 127, 127, 128],
      probes: [[65, 61, 63, 190], [196, 61, 138, 59], [65, 193, 120, 190], [196, 193, 195, 59]]),
    Golden(
      "lossy-alpha.webp", 40, 30,
      average: [127, 127, 127, 128],
      probes: [[68, 60, 63, 190], [195, 62, 139, 59], [67, 192, 120, 190], [197, 195, 194, 59]]),
    Golden(
      "lossy.webp", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[68, 60, 63, 255], [195, 62, 137, 255], [67, 192, 120, 255], [197, 195, 196, 255]]),
    Golden(
      "not-interleaved.jpg", 37, 23,
      average: [127, 127, 127, 255],
      probes: [[59, 59, 61, 255], [193, 56, 126, 255], [63, 197, 128, 255], [192, 198, 196, 255]]),
    Golden(
      "one87.gif", 37, 23,
      average: [127, 127, 127, 255],
      probes: [[67, 57, 62, 255], [202, 57, 129, 255], [67, 197, 132, 255], [202, 197, 199, 255]]),
    Golden(
      "orientation-1.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-2.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-3.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-4.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-5.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-6.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-6.png", 32, 16,
      average: [132, 125, 85, 255],
      probes: [[220, 30, 30, 255], [30, 200, 40, 255], [40, 50, 210, 255], [240, 220, 60, 255]]),
    Golden(
      "orientation-7.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-8.jpg", 32, 16,
      average: [132, 125, 86, 255],
      probes: [[220, 30, 30, 255], [30, 200, 41, 255], [40, 50, 210, 255], [240, 220, 61, 255]]),
    Golden(
      "orientation-8.webp", 32, 16,
      average: [132, 125, 85, 255],
      probes: [[220, 30, 30, 255], [30, 200, 40, 255], [40, 50, 210, 255], [240, 220, 60, 255]]),
    Golden(
      "palette-transparent.png", 40, 30,
      average: [127, 125, 126, 209],
      probes: [[58, 61, 60, 255], [222, 83, 163, 255], [58, 198, 118, 192], [189, 198, 193, 64]]),
    Golden(
      "palette.png", 40, 30,
      average: [127, 125, 126, 255],
      probes: [[58, 61, 60, 255], [222, 83, 163, 255], [58, 198, 118, 255], [189, 198, 193, 255]]),
    Golden(
      "parts.gif", 37, 23,
      average: [9, 9, 9, 19],
      probes: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    Golden(
      "parts.webp", 37, 23,
      average: [9, 9, 9, 19],
      probes: [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]),
    Golden(
      "progressive.jpg", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[66, 61, 65, 255], [194, 62, 138, 255], [65, 192, 121, 255], [194, 194, 194, 255]]),
    Golden(
      "restarts-2x1.jpg", 37, 23,
      average: [127, 127, 127, 255],
      probes: [[63, 57, 59, 255], [192, 57, 124, 255], [65, 196, 130, 255], [194, 196, 193, 255]]),
    Golden(
      "rgb16.png", 40, 30,
      average: [128, 128, 127, 255],
      probes: [[65, 62, 64, 255], [196, 62, 139, 255], [65, 193, 120, 255], [196, 193, 195, 255]]),
    Golden(
      "rgba.png", 40, 30,
      average: [127, 127, 127, 128],
      probes: [[65, 61, 63, 190], [196, 61, 138, 59], [65, 193, 120, 190], [196, 193, 195, 59]]),
    Golden(
      "sampling-3x1.jpg", 40, 30,
      average: [127, 127, 127, 255],
      probes: [[66, 60, 62, 255], [201, 59, 141, 255], [65, 193, 118, 255], [198, 192, 196, 255]]),
    Golden(
      "size-1x1-1.webp", 1, 1,
      average: [0, 0, 0, 255],
      probes: [[0, 0, 0, 255], [0, 0, 0, 255], [0, 0, 0, 255], [0, 0, 0, 255]]),
    Golden(
      "size-1x1.gif", 1, 1,
      average: [0, 0, 0, 255],
      probes: [[0, 0, 0, 255], [0, 0, 0, 255], [0, 0, 0, 255], [0, 0, 0, 255]]),
    Golden(
      "type3-2-3x5-11.png", 3, 5,
      average: [1, 254, 9, 128],
      probes: [[0, 255, 0, 0], [3, 252, 21, 255], [0, 255, 0, 0], [3, 252, 21, 255]]),
    Golden(
      "ycck.jpg", 40, 30,
      average: [143, 143, 143, 255],
      probes: [[100, 97, 99, 255], [200, 80, 149, 255], [85, 198, 132, 255], [199, 198, 199, 255]]),
  ]
}

@Suite("Golden images", .timeLimit(.minutes(5)))
struct GoldenTests {
  @Test(arguments: Golden.table)
  func decodesToTheSamePixelsAsAnotherDecoder(_ golden: Golden) throws {
    let bitmap = try ImageDecoder.decode(Fixture.data(golden.name))

    #expect(bitmap.size == golden.size)
    #expect(bitmap.pixels.count == golden.size.width * golden.size.height * 4)
    #expect(isNear(bitmap.average, golden.average, tolerance: 1), "\(bitmap.average) for \(golden.average)")
    for (index, (x, y)) in [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)].enumerated() {
      let pixel = bitmap.pixel(atX: x, y: y)
      #expect(isNear(pixel, golden.probes[index], tolerance: 2), "\(pixel) for \(golden.probes[index])")
    }
  }

  @Test(arguments: Golden.table)
  func infoReportsTheSizeOfTheUprightImage(_ golden: Golden) throws {
    let info = try ImageDecoder.info(Fixture.data(golden.name))

    #expect(info.size == golden.size)
    let formats: [String: ImageFormat] = ["jpg": .jpeg, "png": .png, "webp": .webp, "gif": .gif]
    #expect(golden.name.split(separator: ".").last.flatMap { formats[String($0)] } == info.format)
  }
}
