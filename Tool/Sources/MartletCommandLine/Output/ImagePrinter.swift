import MartletEngine
import MartletImages

/// Draws the image in a response's body with the characters of a terminal.
struct ImagePrinter {
  private let output: any Output
  /// The largest file that is read.
  private static let fileLimit = 64 << 20

  init(to output: any Output) { self.output = output }

  /// Reads the body to its end, and draws it in the size of the terminal, with a line left for the prompt.
  ///
  /// - Throws: `ImageError` if the body is not an image.
  func print(_ body: ResponseBody) async throws {
    let data = try await body.collect(upTo: Self.fileLimit)
    let (columns, rows) = (output.columns, max(1, output.rows - 1))
    let bitmap = try ImageDecoder.decode(
      data, options: .init(fitting: PixelSize(width: columns, height: 2 * rows)))
    try output.write(HalfBlocks.lines(of: bitmap, columns: columns, rows: rows).map { $0 + "\n" }.joined())
  }
}
