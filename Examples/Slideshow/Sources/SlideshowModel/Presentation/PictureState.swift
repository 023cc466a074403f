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
  /// What it is the answer to.
  package var request: PictureRequest
  package var bitmap: Bitmap
  /// The size of the picture in its file.
  package var size: PixelSize
  package var bytes: Int
  package var source: ImageSource
  package var milliseconds: Int

  package init(_ request: PictureRequest, _ image: LoadedImage) {
    self.request = request
    bitmap = image.bitmap
    size = image.info?.size ?? image.bitmap.size
    bytes = image.encodedBytes
    source = image.source
    milliseconds = image.duration.milliseconds
  }

  /// `640×427, 112525 bytes, network, 12 ms`
  package var summary: String { "\(outcome), \(milliseconds) ms" }

  /// `640×427, 112525 bytes, network`
  package var outcome: String { "\(size), \(bytes) bytes, \(source)" }
}
