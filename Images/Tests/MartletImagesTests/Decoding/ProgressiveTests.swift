import MartletImages
import Testing

@Suite("Previews of a progressive JPEG", .timeLimit(.minutes(5)))
struct ProgressiveTests {
  /// The mean difference of two images.
  private func distance(_ one: Bitmap, _ other: Bitmap) -> Double {
    let sum = zip(one.pixels, other.pixels).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(max(one.pixels.count, 1))
  }

  @Test(arguments: [1_000, 100_000])
  func eachPreviewIsBetterThanTheOneBefore(_ piece: Int) throws {
    let data = try Fixture.data("coffee.jpg")
    let whole = try ImageDecoder.decode(data)
    var decoder = ProgressiveDecoder()
    var distances: [Double] = []

    for start in stride(from: 0, to: data.count, by: piece) {
      guard let preview = decoder.append(data[start...].prefix(piece)) else { continue }
      #expect(preview.size == whole.size)
      distances.append(distance(preview, whole))
    }

    #expect(decoder.data == data)
    // All bytes at once are the complete image, which needs no preview.
    guard piece < data.count else { return #expect(distances.isEmpty) }
    #expect((3...5).contains(distances.count))
    #expect(zip(distances, distances.dropFirst()).allSatisfy { $0 > $1 })
    #expect(distances.allSatisfy { $0 < 12 && $0 > 0 })
  }

  @Test
  func previewIsReturnedAsSoonAsItsScanIsComplete() throws {
    let data = try Fixture.data("coffee.jpg")
    var decoder = ProgressiveDecoder(options: .init(fitting: PixelSize(width: 60, height: 60)))

    let first = data.indices.first { decoder.append(data[$0...$0]) != nil }

    #expect(decoder.isProgressive == true)
    #expect(try #require(first) < data.count / 3)
  }

  @Test(arguments: [0, 2])
  func thereAreAtMostPreviewLimitPreviews(_ limit: Int) throws {
    let data = try Fixture.data("coffee.jpg")
    var decoder = ProgressiveDecoder(options: .init(fitting: PixelSize(width: 60, height: 60)), previewLimit: limit)

    let previews = stride(from: 0, to: data.count, by: 500).compactMap { decoder.append(data[$0...].prefix(500)) }

    #expect(previews.count == limit)
    #expect(previews.allSatisfy { $0.size == PixelSize(width: 60, height: 40) })
  }

  @Test(arguments: [
    "baseline.jpg", "not-interleaved.jpg", "arithmetic-2x2.jpg", "rgba.png", "chelsea.webp", "one87.gif",
  ])
  func fileThatIsNotAProgressiveJPEGHasNoPreviews(_ name: String) throws {
    var decoder = ProgressiveDecoder()

    let previews = try Fixture.data(name).compactMap { decoder.append(Data([$0])) }

    #expect(previews.isEmpty)
    #expect(decoder.isProgressive == false)
  }

  @Test
  func imageAboveTheLimitsHasNoPreviewAndNoError() throws {
    let data = try Fixture.data("coffee.jpg")
    var decoder = ProgressiveDecoder(options: .init(limits: .init(pixels: 100)))

    #expect(decoder.append(data.prefix(data.count * 2 / 3)) == nil)
    #expect(decoder.isProgressive == false)
  }
}
