import MartletImages
import TestSupport
import Testing

@Suite("Animations", .timeLimit(.minutes(5)))
struct AnimationTests {
  /// Writes a GIF of 4×1 pixels: each frame has one color of black, red, green and blue, and its own place.
  private struct Script {
    var bytes = Array("GIF89a".utf8) + [4, 0, 1, 0, 0x81, 0, 0, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255]

    mutating func loop(_ count: UInt8) {
      bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, count, 0, 0]
    }

    mutating func frame(_ color: UInt8, at x: UInt8, width: UInt8 = 1, disposal: UInt8 = 1, delay: UInt8 = 5) {
      // There is a clear code before each code, so that all have 3 bits.
      var codes: [UInt64] = []
      for _ in 0..<width { codes += [4, UInt64(color)] }
      codes.append(5)
      var bits: UInt64 = 0
      for (index, code) in codes.enumerated() { bits |= code << UInt64(3 * index) }
      let packed = (0..<(codes.count * 3 + 7) / 8).map { UInt8(truncatingIfNeeded: bits >> UInt64(8 * $0)) }
      bytes += [0x21, 0xF9, 4, disposal << 2, delay, 0, 0, 0]
      bytes += [0x2C, x, 0, 0, 0, width, 0, 1, 0, 0, 2, UInt8(packed.count)] + packed + [0]
    }

    var data: Data { Data(bytes + [0x3B]) }
  }

  /// The row as letters: k is black, a dot is transparent.
  private func row(_ bitmap: Bitmap) -> String {
    (0..<bitmap.size.width).map { x in
      let pixel = bitmap.pixels[x * 4..<x * 4 + 4]
      return pixel.last == 0
        ? "."
        : pixel.contains(128)
          ? "?" : ["k", "r", "g", "b"][(pixel.dropLast().firstIndex(of: 255) ?? x * 4 - 1) - x * 4 + 1]
    }.joined()
  }

  @Test
  func framesAreDisposedOfAsTheFileSays() throws {
    var script = Script()
    script.frame(0, at: 0, width: 4)
    script.frame(1, at: 0, width: 2, disposal: 3)
    script.frame(2, at: 2, disposal: 2)
    script.frame(3, at: 3, disposal: 0)
    script.frame(1, at: 2, disposal: 3)
    script.frame(2, at: 0)

    let frames = try ImageDecoder.animation(script.data).frames

    #expect(frames.map { row($0.bitmap) } == ["kkkk", "rrkk", "kkgk", "kk.b", "kkrb", "gk.b"])
    #expect(try row(ImageDecoder.decode(script.data)) == "kkkk")
  }

  /// The chunks are those of a script: all ways of disposing and blending, parts of the canvas, and several chunks of
  /// pixels. Pillow 13 shows the same, except for a pixel that it blends with what has been disposed of.
  @Test
  func framesOfAPNGAreComposedAsTheFileSays() throws {
    let data = try Fixture.data("animated.png")

    let animation = try ImageDecoder.animation(data)

    let shown = animation.frames.map { row($0.bitmap) }
    #expect(shown == ["kkkk", "rrkk", "kkgk", "kk.b", "?k.b", ".r.b"])
    #expect(animation.frames[4].bitmap.pixels.prefix(4) == [128, 0, 0, 255])
    #expect(animation.frames.map(\.duration) == [50, 50, 100, 100, 20, 30].map { .milliseconds($0) })
    #expect(animation.plays == 3)
    #expect(try ImageDecoder.decode(data) == animation.frames[0].bitmap)
  }

  @Test
  func defaultImageOfAPNGIsAFrameOnlyIfTheFileSaysSo() throws {
    let data = try Fixture.data("animated-default.png")

    let animation = try ImageDecoder.animation(data)

    #expect(animation.frames.map { row($0.bitmap) } == ["kkkk", "rrkk"])
    #expect(animation.plays == nil)
    #expect(try row(ImageDecoder.decode(data)) == "bbbb")
  }

  /// SDWebImage 3791: frames with a palette flickered. Here index 0 is transparent.
  @Test
  func framesOfAPNGWithAPaletteAreComposed() throws {
    let animation = try ImageDecoder.animation(Fixture.data("animated-palette.png"))

    #expect(animation.frames.map { row($0.bitmap) } == ["rrg.", "rrb.", "rr.."])
    #expect(animation.plays == 1)
  }

  @Test
  func framesOfAPNGCountTowardsTheLimits() throws {
    let data = try Fixture.data("animated.png")

    for limits in [ImageDecoder.Limits(bytes: 4 * 4 + 2 * 4 - 1), .init(animationPixels: 4 * 6 - 1)] {
      let error = #expect(throws: ImageError.self) {
        try ImageDecoder.eachFrame(of: data, options: .init(limits: limits)) { _ in true }
      }
      #expect(error?.kind == .tooLarge)
    }
  }

  /// A frame outside of the image, without pixels, out of order, or with damaged pixels.
  @Test(arguments: [("fcTL", 4 + 8 + 3, 9), ("fcTL", 4 + 4 + 3, 0), ("fcTL", 4 + 3, 1), ("fdAT", 4 + 4 + 1, 0)])
  func framesOfAPNGThatContradictTheFileAreDamage(_ type: String, offset: Int, value: UInt8) throws {
    var data = try Fixture.data("animated.png")
    let chunk = try #require(data.lastRange(of: Data(type.utf8)))
    let whole = try ImageDecoder.decode(data)
    data[chunk.lowerBound + offset] = value

    let error = #expect(throws: ImageError.self) { try ImageDecoder.animation(data) }

    #expect(error?.kind == .damaged)
    #expect(try ImageDecoder.decode(data) == whole)
  }

  @Test
  func pixelsSavedToRestoreTheCanvasCountTowardsTheLimit() throws {
    var script = Script()
    script.frame(0, at: 0, width: 4)
    script.frame(1, at: 1, width: 2, disposal: 3)
    script.frame(2, at: 3)
    func frames(_ bytes: Int) throws -> [String] {
      var rows: [String] = []
      try ImageDecoder.eachFrame(of: script.data, options: .init(limits: .init(bytes: bytes))) { frame in
        rows.append(row(frame.bitmap))
        return true
      }
      return rows
    }

    #expect(try frames(4 * 4 + 2 * 4) == ["kkkk", "krrk", "kkkg"])
    let error = #expect(throws: ImageError.self) { try frames(4 * 4 + 2 * 4 - 1) }
    #expect(error?.kind == .tooLarge)
    #expect(error?.message.contains("Limits.bytes") == true)
  }

  /// A file of a few dozen bytes whose only frame has the disposal method "restore to previous", on an empty canvas.
  @Test
  func restoringAnEmptyCanvasTakesNoMemory() async {
    await #expect(processExitsWith: .success) {
      var bytes = Array("GIF89a".utf8) + [0x88, 0x13, 0x88, 0x13, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
      bytes += [0x21, 0xF9, 4, 3 << 2, 5, 0, 0, 0]
      bytes += [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B]
      let before = peakMemory()
      try ImageDecoder.eachFrame(of: Data(bytes)) { $0.bitmap.size.width == 5000 }
      struct MoreThanOneBitmap: Error {}
      guard peakMemory() - before < 150_000_000 else { throw MoreThanOneBitmap() }
    }
  }

  @Test
  func oneFrameTakesTheMemoryOfOneBitmap() async {
    await #expect(processExitsWith: .success) {
      struct MoreThanOneBitmap: Error {}
      let before = peakMemory()
      for disposal: UInt8 in 0...3 {
        var bytes = Array("GIF89a".utf8) + [0x88, 0x13, 0x88, 0x13, 0x80, 0, 0, 0, 0, 0, 255, 255, 255]
        bytes += [0x21, 0xF9, 4, disposal << 2, 5, 0, 0, 0]
        bytes += [0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B]
        let still = try ImageDecoder.decode(Data(bytes)).size
        guard still.width == 5000, peakMemory() - before < 150_000_000 else { throw MoreThanOneBitmap() }
        let frames = try ImageDecoder.animation(Data(bytes)).frames
        guard frames.count == 1, peakMemory() - before < 150_000_000 else { throw MoreThanOneBitmap() }
      }
    }
  }

  @Test(arguments: [(nil, 1), (0, nil), (1, 2), (7, 8)] as [(UInt8?, Int?)])
  func loopCountIsReported(_ count: UInt8?, _ plays: Int?) throws {
    var script = Script()
    if let count { script.loop(count) }
    script.frame(1, at: 0)

    #expect(try ImageDecoder.animation(script.data).plays == plays)
  }

  @Test(arguments: [(0, 100), (1, 100), (2, 20), (200, 2000)] as [(UInt8, Int)])
  func shortDelaysAreLengthenedAsInBrowsers(_ hundredths: UInt8, _ milliseconds: Int) throws {
    var script = Script()
    script.frame(1, at: 0, delay: hundredths)

    #expect(try ImageDecoder.animation(script.data).frames.map(\.duration) == [.milliseconds(milliseconds)])
  }

  @Test
  func firstFrameEnlargesTheCanvasAndLaterOnesAreClipped() throws {
    var script = Script()
    script.frame(1, at: 3, width: 3)
    script.frame(2, at: 5, width: 3)
    script.frame(3, at: 200)

    let frames = try ImageDecoder.animation(script.data).frames

    #expect(frames.map { row($0.bitmap) } == ["...rrr", "...rrg", "...rrg"])
    #expect(try ImageDecoder.info(script.data).size == PixelSize(width: 6, height: 1))
  }

  @Test
  func missingTrailerOfAGIFIsAccepted() throws {
    var script = Script()
    script.frame(1, at: 0, width: 4)

    #expect(try row(ImageDecoder.decode(Data(script.bytes))) == "rrrr")
    #expect(try row(ImageDecoder.decode(Data(script.bytes + [0, 0, 7]))) == "rrrr")
  }

  @Test
  func gifWithoutAPaletteIsGrey() throws {
    let file = Array("GIF87a".utf8) + [1, 0, 1, 0, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x5C, 1, 0, 0x3B]

    #expect(try ImageDecoder.decode(Data(file)).pixels == [3, 3, 3, 255])
  }

  @Test
  func limitsApplyToAllFramesTogether() throws {
    var script = Script()
    for index in 0..<10 { script.frame(UInt8(index % 4), at: 0) }

    let few = ImageDecoder.Options(limits: .init(bytes: 9 * 16))
    #expect(throws: ImageError.self) { try ImageDecoder.animation(script.data, options: few) }
    let short = ImageDecoder.Options(limits: .init(animationPixels: 39))
    let error = #expect(throws: ImageError.self) { try ImageDecoder.animation(script.data, options: short) }
    #expect(error?.kind == .tooLarge && error?.message.contains("animationPixels") == true)

    var count = 0
    try ImageDecoder.eachFrame(of: script.data, options: few) { _ in
      count += 1
      return count < 7
    }
    #expect(count == 7)
  }

  @Test(arguments: [("parts.gif", 6), ("parts.webp", 6), ("animated.webp", 2), ("rgba.png", 1), ("baseline.jpg", 1)])
  func firstFrameOfEveryFormatIsTheDecodedImage(_ name: String, _ count: Int) throws {
    let data = try Fixture.data(name)
    let box = ImageDecoder.Options(fitting: PixelSize(width: 9, height: 9))

    let animation = try ImageDecoder.animation(data)

    #expect(animation.frames.count == count)
    #expect(try animation.frames.first?.bitmap == ImageDecoder.decode(data))
    let small = try ImageDecoder.animation(data, options: box)
    #expect(small.frames.map(\.bitmap.size.width) == Array(repeating: 9, count: count))
  }

  /// The pixels, without the color of transparent ones.
  private func visible(_ bitmap: Bitmap) -> [UInt8] {
    bitmap.pixels.indices.map { bitmap.pixels[$0 | 3] == 0 ? 0 : bitmap.pixels[$0] }
  }

  /// The WebP was converted by gif2webp.
  @Test
  func framesOfAWebPEqualThoseOfTheGIFItWasConvertedFrom() throws {
    let gif = try ImageDecoder.animation(Fixture.data("parts.gif"))
    let webp = try ImageDecoder.animation(Fixture.data("parts.webp"))

    #expect(webp.frames.map(\.duration) == gif.frames.map(\.duration))
    for (one, other) in zip(gif.frames, webp.frames) { #expect(visible(one.bitmap) == visible(other.bitmap)) }
  }
}
