package import MartletSemantics

/// Why a slide has no picture to show.
package enum PictureError: Error, Sendable, Hashable {
  /// The slide names no file.
  case noFileName
  /// The slide's file name leads out of the folder of the images.
  case refusedFileName(String, reason: String)
  /// The server has no such picture, or does not give it.
  case unexpectedStatusCode(Int, URL)
  /// Nobody answers.
  case serviceDown(URL, reason: String)
  /// What came is no picture that can be shown.
  case notAnImage(URL, reason: String)
  /// The exchange failed for another reason.
  case transferFailed(URL, reason: String)
  /// Nobody wanted the picture any more. The only one of these that is not remembered.
  case cancelled
}

extension PictureError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .noFileName: "the slide has no picture: the service names no file for it"
    case .refusedFileName(let name, let reason): "the file name '\(name)' is refused: \(reason)"
    case .unexpectedStatusCode(let code, let url): "status \(HTTPStatus(code)) for \(url.shown)"
    case .serviceDown(let url, let reason): "nobody answers at \(url.shown) (\(reason))"
    case .notAnImage(let url, let reason): "\(url.shown) cannot be shown: \(reason)"
    case .transferFailed(let url, let reason): "\(url.shown) could not be fetched: \(reason)"
    case .cancelled: "the picture was not waited for"
    }
  }
}
