#if os(Linux)
import Foundation
import FoundationNetworking
import MartletEngine

extension URLSessionFailure {
  /// On Linux some codes stand for libcurl's, and mean something else than on Apple's platforms.
  static func ownClassification(of code: URLError.Code, hasHead: Bool) -> HTTPError.Kind? {
    switch code {
    case .unsupportedURL: .protocolViolation  // the URL was looked at before: what came back was no HTTP
    case .badServerResponse: .connectionLost  // the server hung up without an answer
    case .unknown where hasHead: .connectionLost  // most of all a body that is shorter than promised
    case .dataLengthExceedsMaximum: .invalidRequest  // a GET with a body
    default: nil
    }
  }
}
#endif
