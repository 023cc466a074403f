public import MartletCommandLine
import MartletEngine
import MartletImages
import MartletSemantics

/// Draws images with the characters of a terminal. It is a module of its own, so that a tool without it needs no
/// libraries of image formats.
public enum TerminalImages {
  /// Draws a file of a known format in the size of the terminal.
  public static let drawing: ImageDrawing = { data, columns, rows throws(ImageDrawingError) in
    do {
      let bitmap = try ImageDecoder.decode(
        data, options: .init(fitting: PixelSize(width: columns, height: 2 * rows)))
      return HalfBlocks.lines(of: bitmap, columns: columns, rows: rows).map { $0 + "\n" }.joined()
    } catch { throw ImageDrawingError(message: (error as? ImageError)?.message ?? "\(error)") }
  }
}
