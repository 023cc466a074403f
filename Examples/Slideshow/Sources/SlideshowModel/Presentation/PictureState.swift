import MartletEngine
package import MartletImages

/// The state of the current slide's picture.
package enum PictureState: Sendable, Hashable {
  /// There is no slide.
  case none
  /// It is loading: the bytes received, and their total.
  case loading(completed: Int64, total: Int64?)
  case shown(ShownPicture)
  /// It could not be loaded.
  case missing(Explanation)
}

/// A picture in its displayed size, and the source of its file.
package struct ShownPicture: Sendable, Hashable {
  /// The request that returned it.
  package var request: PictureRequest
  package var bitmap: Bitmap
  package var facts: PictureFacts
  /// Its source this time.
  package var source: ImageSource
  package var milliseconds: Int

  /// - Parameter origin: the source of the file, if the picture was in memory.
  package init(_ request: PictureRequest, _ image: LoadedImage, origin: ImageSource? = nil) {
    self.request = request
    bitmap = image.bitmap
    facts = PictureFacts(
      size: image.info?.size ?? image.bitmap.size, bytes: image.encodedBytes, origin: origin ?? image.source,
      generation: request.generation)
    source = image.source
    milliseconds = image.duration.milliseconds
  }
}

/// Facts about a picture that was shown, without its pixels.
package struct PictureFacts: Sendable, Hashable {
  /// The size of the picture in its file.
  package var size: PixelSize
  /// The bytes of the file.
  package var bytes: Int
  /// The source of the file.
  package var origin: ImageSource
  /// The number of reloads before it was loaded.
  package var generation: Int

  /// `640×427`, `112.5 kB`, `from the network`
  package var parts: [String] {
    let origin =
      switch origin {
      case .session(.network): "from the network"
      case .session: "from the cache"
      case .memory: "from memory"
      case .inline, .file: "from this computer"
      @unknown default: "from elsewhere"
      }
    return ["\(size)", ByteSize.text(Int64(bytes)), origin]
  }
}

/// The result of loading a slide's picture.
package enum PictureOutcome: Sendable, Hashable, CustomStringConvertible {
  case shown(PictureFacts)
  case missing(Explanation)

  /// `640×427 · 112.5 kB · from the network`, or the sentence that explains the error.
  package var description: String {
    switch self {
    case .shown(let facts): facts.parts.joined(separator: " · ")
    case .missing(let explanation): explanation.sentence
    }
  }
}
