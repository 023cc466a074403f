import MartletImages

/// The image files of these tests.
enum Fixture {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

  static let allNames = Golden.table.map(\.name)
  /// The files of a few hundred bytes, for tests that decode many times.
  static let smallNames = allNames.filter { !["coffee.jpg", "chelsea.webp", "cameraman.png"].contains($0) }

  static func data(_ name: String) throws -> Data { try Data(contentsOf: folder.appending(path: name)) }
}

extension Bitmap {
  /// Returns the pixel at a place given in fractions of width and height.
  func pixel(atX x: Double, y: Double) -> [Int] {
    let start = Int(Double(size.height) * y) * bytesPerRow + Int(Double(size.width) * x) * Bitmap.bytesPerPixel
    return pixels[start..<start + Bitmap.bytesPerPixel].map(Int.init)
  }

  /// The average of each channel.
  var average: [Int] {
    var sums = [0, 0, 0, 0]
    for (index, value) in pixels.enumerated() { sums[index % 4] += Int(value) }
    return sums.map { Int((Double($0) / Double(size.width * size.height)).rounded()) }
  }
}

/// Whether two pixels differ by no more than `tolerance` in any channel.
func isNear(_ one: [Int], _ other: [Int], tolerance: Int) -> Bool {
  one.count == other.count && zip(one, other).allSatisfy { abs($0 - $1) <= tolerance }
}
