#if canImport(Darwin)
import Foundation

extension URLSessionTask {
  /// Makes the sender wait.
  func pauseReceiving() { suspend() }

  /// Lets the sender go on.
  func goOnReceiving() { resume() }
}
#endif
