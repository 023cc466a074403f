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
      fill: PixelSize(width: columns, height: 2 * rows), thumbnail: thumbnail)
  }

  /// The thumbnails of the list, if there is room for them. Their height is odd, so that there is a gap of one pixel to
  /// the next one.
  var thumbnail: PixelSize? {
    if columns >= 100, rows >= 34 { return PixelSize(width: 16, height: 9) }
    if columns >= 60, rows >= 20 { return PixelSize(width: 9, height: 5) }
    return nil
  }

  /// The lines of a slide in the list.
  var linesOfSlide: Int { thumbnail.map { ($0.height + 1) / 2 } ?? 1 }
}
