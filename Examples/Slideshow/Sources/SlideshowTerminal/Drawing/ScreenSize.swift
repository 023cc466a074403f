package import SlideshowModel
import MartletImages

/// The size of a terminal in characters.
package struct ScreenSize: Sendable, Hashable {
  package var columns: Int
  package var rows: Int

  package init(columns: Int, rows: Int) {
    self.columns = max(1, columns)
    self.rows = max(1, rows)
  }

  /// The room for a picture: a character shows two pixels, one above the other.
  package var viewport: Viewport {
    Viewport(
      fit: PixelSize(width: columns, height: 2 * max(1, rows - Frame.linesAroundPicture)),
      fill: PixelSize(width: columns, height: 2 * rows))
  }
}
