#if canImport(Darwin)
import Foundation
import MartletEngine
import MartletURLSession

extension SAPTransport {
  /// The wire for a configuration: Foundation's own.
  static func wire(for configuration: URLSessionConfiguration) -> any Transport { URLSessionTransport(configuration) }
}
#endif
