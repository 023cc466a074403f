#if canImport(Darwin)
import Foundation
import MartletEngine

extension URLSessionFailure {
  /// There is nothing that means something else than its name says.
  static func ownClassification(of code: URLError.Code, hasHead: Bool) -> HTTPError.Kind? { nil }
}
#endif
