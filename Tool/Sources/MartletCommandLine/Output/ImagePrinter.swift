import MartletEngine
public import MartletSemantics

/// Draws the image in a file with the characters of a terminal of this size.
public typealias ImageDrawing =
  @Sendable (_ data: Data, _ columns: Int, _ rows: Int) throws(ImageDrawingError) -> String

/// The error of a file that is no image, or a damaged one.
public struct ImageDrawingError: Error {
  public let message: String

  public init(message: String) { self.message = message }
}

/// Draws the image in a response's body with the characters of a terminal.
struct ImagePrinter {
  private let output: any Output
  private let draw: ImageDrawing
  /// The maximum number of bytes of a file that is read.
  private static let fileLimit = 64 << 20

  init(to output: any Output, drawing draw: @escaping ImageDrawing) { (self.output, self.draw) = (output, draw) }

  /// Reads the body to its end, and draws it in the size of the terminal, with a line left for the prompt.
  ///
  /// - Throws: `ImageDrawingError` if the body is not an image.
  func print(_ body: ResponseBody) async throws {
    let data = try await body.collect(upTo: Self.fileLimit)
    try output.write(try draw(data, output.columns, max(1, output.rows - 1)))
  }
}
