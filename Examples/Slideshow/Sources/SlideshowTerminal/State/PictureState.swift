package import MartletImages

/// What there is to see of the current slide.
package enum PictureState: Sendable, Hashable {
  /// There is no slide.
  case none
  /// It is on its way: so many bytes of so many.
  case loading(completed: Int64, total: Int64?)
  case shown(ShownPicture)
  /// There is none, and this is why.
  case missing(String)
}

/// A picture in the size in which it is shown, and how it came.
package struct ShownPicture: Sendable, Hashable {
  package var bitmap: Bitmap
  /// The size of the picture in its file.
  package var size: PixelSize
  package var bytes: Int
  /// `network` or `memory`.
  package var source: String
  package var milliseconds: Int

  package init(bitmap: Bitmap, size: PixelSize, bytes: Int, source: String, milliseconds: Int) {
    self.bitmap = bitmap
    self.size = size
    self.bytes = bytes
    self.source = source
    self.milliseconds = milliseconds
  }

  /// `640×427, 112525 bytes, network, 12 ms`
  package var summary: String { "\(size), \(bytes) bytes, \(source), \(milliseconds) ms" }
}
