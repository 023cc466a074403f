#if canImport(Darwin)
import Foundation

extension URLSession {
  /// The file, read while it is sent.
  func upload(_ request: URLRequest, file: URL) -> URLSessionTask { uploadTask(with: request, fromFile: file) }
}
#endif
