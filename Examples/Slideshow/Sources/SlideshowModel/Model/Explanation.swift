import Martlet
import MartletImages

/// An error in words: a sentence for users, and technical details for finding the cause.
package struct Explanation: Sendable, Hashable, CustomStringConvertible {
  /// The problem and the remedy, without status codes and the like.
  package var sentence: String
  /// URLs, codes and messages of the system; may be empty.
  package var details: String

  package init(_ sentence: String, details: String = "") {
    self.sentence = sentence
    self.details = details
  }

  /// `The service does not have this picture. (the server answered 404 Not Found: http://localhost:8000/a.jpg)`
  package var description: String { details.isEmpty ? sentence : "\(sentence) (\(details))" }
}

extension SlideshowError {
  /// The explanation that a front end displays.
  package var explanation: Explanation {
    switch self {
    case .noUrlDefinedInInfoPropertyList, .unreadableInfoPropertyList, .invalidURL, .cancelled: Explanation(description)
    case .unexpectedStatusCode(let code, _): Explanation(Self.sentence(for: code), details: description)
    case .slideshowDataDecodingError:
      Explanation("The web service answers, but what it sends is not a slideshow.", details: description)
    case .serviceDown:
      Explanation("The web service does not answer: check if the web service is running.", details: description)
    case .transferFailed: Explanation("The slides could not be fetched from the web service.", details: description)
    }
  }

  private static func sentence(for code: Int) -> String {
    switch code {
    case 401, 403: "The web service does not allow the slides to be read."
    case 404, 410: "The web service has no slideshow at this address: check the address."
    case 500...599: "The web service has a fault of its own at the moment."
    default: "The web service gave an unexpected answer."
    }
  }
}

extension PictureError {
  /// The explanation that a front end displays.
  package var explanation: Explanation { Explanation(sentence, details: description) }

  private var sentence: String {
    switch self {
    case .noFileName: "This slide has no picture."
    case .refusedFileName: "The name of this picture's file cannot be used."
    case .notLoaded(let error): Self.sentence(for: error)
    }
  }

  private static func sentence(for error: ImageLoadError) -> String {
    switch error.kind {
    case .network where error.httpError?.isTimeout == true, .timedOut: "The picture did not arrive in time."
    case .network where error.response != nil: "The picture broke off before its end."
    case .undecodable where (error.underlying as? ImageError)?.kind == .truncated:
      "The picture broke off before its end."
    case .network where error.httpError?.meansServiceIsDown == true:
      "The picture could not be fetched: the web service does not answer."
    case .status: sentence(forStatus: error.response?.status.code ?? 0)
    case .notAnImage, .empty: "What the web service sent is not a picture."
    case .tooLarge: "The picture is too large to be shown."
    case .undecodable: "The picture is damaged, or of a kind that cannot be shown."
    default: "The picture could not be fetched."
    }
  }

  private static func sentence(forStatus code: Int) -> String {
    switch code {
    case 401, 403: "The web service does not allow this picture to be read."
    case 404, 410: "The web service does not have this picture."
    default: "The web service cannot deliver this picture at the moment."
    }
  }
}
