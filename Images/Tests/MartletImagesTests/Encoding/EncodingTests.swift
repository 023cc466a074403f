import Glibc
import MartletEngine
import MartletImages
import Testing

@Suite("Encoding", .timeLimit(.minutes(5)))
struct EncodingTests {
  private func picture(width: Int = 40, height: Int = 30, alpha: UInt8? = nil) -> Bitmap {
    let pixels = (0..<width * height).flatMap { index -> [UInt8] in
      let (x, y) = (index % width, index / width)
      return [
        UInt8(255 * x / max(width - 1, 1)), UInt8(255 * y / max(height - 1, 1)), UInt8((x + y) % 256),
        alpha ?? UInt8(55 + 200 * x / max(width - 1, 1)),
      ]
    }
    return Bitmap(size: PixelSize(width: width, height: height), pixels: pixels)
  }

  @Test(arguments: [ImageEncoding.png, .losslessWebP], [(1, 1), (1, 50), (40, 30), (257, 3)])
  func losslessFormatsKeepEveryPixel(_ encoding: ImageEncoding, _ size: (Int, Int)) throws {
    for alpha in [nil, 255] as [UInt8?] {
      let bitmap = picture(width: size.0, height: size.1, alpha: alpha)

      let data = try ImageEncoder.encode(bitmap, as: encoding)

      #expect(try ImageDecoder.info(data).format == encoding.format)
      #expect(try ImageDecoder.decode(data) == bitmap)
    }
  }

  @Test(arguments: [ImageEncoding.jpeg(), .jpeg(quality: 95, isProgressive: true), .webP(), .webP(quality: 100)])
  func lossyFormatsAreCloseToTheOriginal(_ encoding: ImageEncoding) throws {
    let bitmap = picture(alpha: 255)

    let decoded = try ImageDecoder.decode(ImageEncoder.encode(bitmap, as: encoding))

    #expect(decoded.size == bitmap.size)
    #expect(isNear(decoded.average, bitmap.average, tolerance: 2))
    #expect(isNear(decoded.pixel(atX: 0.5, y: 0.5), bitmap.pixel(atX: 0.5, y: 0.5), tolerance: 12))
  }

  @Test
  func lossyWebPKeepsAlpha() throws {
    let decoded = try ImageDecoder.decode(ImageEncoder.encode(picture(), as: .webP(quality: 90)))

    #expect(abs(decoded.average[3] - picture().average[3]) <= 1)
  }

  @Test
  func jpegShowsTheBackgroundWhereTheImageIsTransparent() throws {
    let clear = Bitmap(size: PixelSize(width: 8, height: 8), pixels: [UInt8](repeating: 0, count: 256))
    let green = PixelColor(red: 0, green: 200, blue: 0)

    let white = try ImageDecoder.decode(ImageEncoder.encode(clear, as: .jpeg()))
    let colored = try ImageDecoder.decode(ImageEncoder.encode(clear, as: .jpeg(quality: 95, background: green)))

    #expect(isNear(white.average, [255, 255, 255, 255], tolerance: 1))
    #expect(isNear(colored.average, [0, 200, 0, 255], tolerance: 3))
  }

  @Test(arguments: [(-5, 1), (1000, 100)])
  func qualityOutsideOfTheRangeIsClamped(_ quality: Int, _ end: Int) throws {
    let bitmap = picture()

    #expect(
      try ImageEncoder.encode(bitmap, as: .jpeg(quality: quality))
        == ImageEncoder.encode(bitmap, as: .jpeg(quality: end)))
  }

  @Test(arguments: [
    (ImageEncoding.webP(), 16384), (.losslessWebP, 16384), (.jpeg(), 65501), (.png, 1_000_001), (.png, 0), (.jpeg(), 0),
  ])
  func sideThatTheFormatDoesNotAllowIsAnError(_ encoding: ImageEncoding, _ width: Int) {
    let bitmap = Bitmap(size: PixelSize(width: width, height: 1), pixels: [UInt8](repeating: 9, count: width * 4))

    let error = #expect(throws: ImageError.self) { try ImageEncoder.encode(bitmap, as: encoding) }
    #expect(error?.kind == .notEncodable)
  }

  @Test
  func rotatedImageIsEncodedUpright() throws {
    let upright = try ImageDecoder.decode(Fixture.data("orientation-6.jpg"))

    let data = try ImageEncoder.encode(upright, as: .png)

    #expect(try ImageDecoder.info(data).orientation == .up)
    #expect(try ImageDecoder.decode(data) == upright)
  }

  @Test
  func fileIsReplacedAtomically() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "picture.png")

    try ImageEncoder.write(picture(), to: file, as: .jpeg())
    try ImageEncoder.write(picture(), to: file, as: .png)

    #expect(try ImageDecoder.decode(Data(contentsOf: file)) == picture())
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()) == ["picture.png"])
    #expect(throws: HTTPError.self) {
      try ImageEncoder.write(picture(), to: folder.appending(path: "missing/picture.png"), as: .png)
    }

    let pipe = folder.appending(path: "pipe")
    #expect(mkfifo(pipe.path(), 0o600) == 0)
    #expect(throws: HTTPError.self) { try ImageEncoder.write(picture(), to: pipe, as: .png) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted() == ["picture.png", "pipe"])
    var status = stat()
    #expect(lstat(pipe.path(), &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
  }
}
