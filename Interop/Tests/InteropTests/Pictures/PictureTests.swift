import Foundation
import MartletImages
import MartletTesting
import Testing

/// Pictures of every kind from other people's tools, decoded and compared with other people's decoders (`corpus.py`).
/// Martlet's own pictures, read by those decoders.
@Suite("Pictures", .timeLimit(.minutes(5)))
struct PictureTests {
  /// A row of `corpus.json`.
  private struct Entry: Decodable {
    let file: String
    /// A file of pixels for each frame.
    let pixels: [String]
    let width: Int
    let height: Int
    /// The allowed deviation of a channel: at worst, and on average.
    let worst: Double
    let mean: Double
  }

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func everyPictureLooksAsInOtherPeoplesDecoders() throws {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "corpus.py")
    try RealProcess.run(Python.path(), [script.path(), folder.url.path()], in: folder.url)
    let entries = try JSONDecoder().decode([Entry].self, from: Data(contentsOf: folder.file("corpus.json")))

    #expect(entries.count > 250)
    for entry in entries {
      let data = try Data(contentsOf: folder.file(entry.file))
      do {
        let animation = try ImageDecoder.animation(data)
        #expect(animation.frames.count == entry.pixels.count, "frames of \(entry.file)")
        #expect(try animation.frames.first?.bitmap == ImageDecoder.decode(data), "first frame of \(entry.file)")
        for (number, (frame, pixels)) in zip(animation.frames, entry.pixels).enumerated() {
          try compare(frame.bitmap, pixels, entry, number)
        }
      } catch {
        Issue.record("\(entry.file): \(error)")
      }
    }
  }

  private func compare(_ bitmap: Bitmap, _ pixels: String, _ entry: Entry, _ number: Int) throws {
    #expect(bitmap.size == PixelSize(width: entry.width, height: entry.height), "\(entry.file)")
    let (worst, mean) = distance(bitmap.pixels, try [UInt8](Data(contentsOf: folder.file(pixels))))
    #expect(worst <= entry.worst && mean <= entry.mean, "\(entry.file), frame \(number): \(worst) at worst, \(mean)")
  }

  @Test(arguments: [
    (ImageEncoding.png, "png", 0.0, 0.0), (.losslessWebP, "webp", 0, 0), (.webP(quality: 90), "webp", 60, 4),
    (.jpeg(quality: 95), "jpg", 60, 3), (.jpeg(quality: 90, isProgressive: true), "jpg", 60, 4),
  ])
  func othersReadWhatWeWrite(_ encoding: ImageEncoding, _ name: String, _ worst: Double, _ mean: Double) throws {
    let isJPEG = name == "jpg"
    let size = PixelSize(width: 37, height: 23)
    let pixels = (0..<size.width * size.height).flatMap { index -> [UInt8] in
      let (x, y) = (index % size.width, index / size.width)
      return [UInt8(x * 6), UInt8(y * 11), UInt8(x + y), isJPEG ? 255 : UInt8(255 - x * 5)]
    }
    try ImageEncoder.write(Bitmap(size: size, pixels: pixels), to: folder.file("ours." + name), as: encoding)

    try folder.write(
      Data(
        """
        import sys
        from PIL import Image
        open("pixels", "wb").write(Image.open(sys.argv[1]).convert("RGBA").tobytes())
        """.utf8), to: "read.py")
    try RealProcess.run(Python.path(), ["read.py", "ours." + name], in: folder.url)

    let distance = distance(pixels, try [UInt8](Data(contentsOf: folder.file("pixels"))))
    #expect(distance.worst <= worst && distance.mean <= mean, "\(distance)")
  }

  /// The deviation of the channels at worst and on average; colors count in proportion to their opacity.
  private func distance(_ one: [UInt8], _ other: [UInt8]) -> (worst: Double, mean: Double) {
    guard one.count == other.count, !one.isEmpty else { return (.infinity, .infinity) }
    var (worst, sum) = (0.0, 0.0)
    for start in stride(from: 0, to: one.count, by: 4) {
      for channel in start..<start + 4 {
        let (left, right) = (Double(one[channel]), Double(other[channel]))
        let isAlpha = channel == start + 3
        let difference =
          isAlpha ? abs(left - right) : abs(left * Double(one[start + 3]) - right * Double(other[start + 3])) / 255
        worst = max(worst, difference)
        sum += difference
      }
    }
    return (worst, sum / Double(one.count))
  }
}
