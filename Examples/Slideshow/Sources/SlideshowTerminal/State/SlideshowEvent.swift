package import MartletImages
package import SlideshowModel

/// What happens to the slideshow.
package enum SlideshowEvent: Sendable {
  case started
  case key(Key)
  case resized(ScreenSize)
  /// The slides came, or did not, for the request of this number.
  case slides(Int, Result<Slideshow, SlideshowError>)
  /// Bytes of a picture came, for the request of this number.
  case progress(Int, completed: Int64, total: Int64?)
  /// A picture came, or did not, for the request of this number and this slide.
  case picture(Int, SlideID, Result<ShownPicture, PictureError>)
  /// Something that people should know, and that hinders nothing.
  case warning(String)
  case quit
}

/// What is to be done about it.
package enum SlideshowEffect: Sendable, Hashable {
  case loadSlides(Int)
  case loadPicture(Int, Slide, Picture.Mode, PixelSize)
  /// Lets failed pictures be tried again.
  case forgetFailures
  case save(KeptState)
  case quit
}

/// The size of a terminal in characters.
package struct ScreenSize: Sendable, Hashable {
  package var columns: Int
  package var rows: Int

  package init(columns: Int, rows: Int) {
    self.columns = max(1, columns)
    self.rows = max(1, rows)
  }

  /// The room for a picture, in pixels: a character shows two of them, one above the other.
  package func pictureBox(isFullScreen: Bool) -> PixelSize {
    PixelSize(width: columns, height: 2 * max(1, isFullScreen ? rows : rows - Frame.linesAroundPicture))
  }
}
