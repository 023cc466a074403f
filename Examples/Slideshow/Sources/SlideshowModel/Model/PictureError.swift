package import MartletImages
import MartletSemantics

/// The reason why a slide has no picture to show.
package enum PictureError: Error, Sendable {
  /// The slide names no file.
  case noFileName
  /// The slide's file name leads out of the folder of the images.
  case refusedFileName(String, reason: String)
  /// The picture could not be loaded or decoded.
  case notLoaded(ImageLoadError)

  /// Whether the load was cancelled.
  package var isCancelled: Bool {
    if case .notLoaded(let error) = self { error.kind == .cancelled } else { false }
  }
}

extension PictureError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .noFileName: "the slide has no picture: the service names no file for it"
    case .refusedFileName(let name, let reason): "the file name '\(name)' is refused: \(reason)"
    case .notLoaded(let error): error.message + (error.url.map { ": \($0.shown)" } ?? "")
    }
  }
}
