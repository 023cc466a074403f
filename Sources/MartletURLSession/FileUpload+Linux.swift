#if os(Linux)
import Foundation
import FoundationNetworking

extension URLSession {
  /// The file as memory that is mapped from it: a file that Foundation on Linux reads itself ends the process when its
  /// task is cancelled in the middle.
  func upload(_ request: URLRequest, file: URL) -> URLSessionTask {
    guard let mapped = try? Data(contentsOf: file, options: .alwaysMapped) else {
      return uploadTask(with: request, fromFile: file)
    }
    return uploadTask(with: request, from: mapped)
  }
}
#endif
