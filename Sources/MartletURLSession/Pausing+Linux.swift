#if os(Linux)
import FoundationNetworking

extension URLSessionTask {
  /// Does nothing: `suspend()` on Linux takes the transfer off libcurl, and `resume()` would begin it anew.
  func pauseReceiving() {}

  /// Does nothing.
  func goOnReceiving() {}
}
#endif
