import MartletEngine
package import MartletImages

/// What there is to see of the current slide.
package enum PictureState: Sendable, Hashable {
  /// There is no slide.
  case none
  /// It is on its way: so many bytes of so many.
  case loading(completed: Int64, total: Int64?)
  case shown(ShownPicture)
  /// There is none, and this is why.
  case missing(Explanation)
}

/// A picture in the size in which it is shown, and how it came.
package struct ShownPicture: Sendable, Hashable {
  /// What it is the answer to.
  package var request: PictureRequest
  package var bitmap: Bitmap
  package var facts: PictureFacts
  /// Where it came from this time.
  package var source: ImageSource
  package var milliseconds: Int

  /// - Parameter origin: where the file came from, if the picture was in memory.
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

/// What is known of a picture that was shown, without its pixels.
package struct PictureFacts: Sendable, Hashable {
  /// The size of the picture in its file.
  package var size: PixelSize
  /// The bytes of the file.
  package var bytes: Int
  /// Where the file came from.
  package var origin: ImageSource
  /// How many times everything had been loaded anew before.
  package var generation: Int

  /// `640×427`, `112.5 kB`, `from the network`
  package var parts: [String] {
    let origin =
      switch origin {
      case .session(.network): "from the network"
      case .session: "from the cache"
      case .memory: "from memory"
      }
    return ["\(size)", ByteSize.text(Int64(bytes)), origin]
  }
}

/// How it went with the picture of a slide.
package enum PictureOutcome: Sendable, Hashable, CustomStringConvertible {
  case shown(PictureFacts)
  case missing(Explanation)

  /// `640×427 · 112.5 kB · from the network`, or the sentence that says why there is none.
  package var description: String {
    switch self {
    case .shown(let facts): facts.parts.joined(separator: " · ")
    case .missing(let explanation): explanation.sentence
    }
  }
}
