import Martlet
import MartletImages
import Synchronization

/// Which pictures the server has confirmed since everything was loaded anew.
final class PictureRenewal: Sendable {
  /// Nil before that, when what is fresh on the disk is good enough.
  private let confirmed = Mutex<Set<URL>?>(nil)

  /// From now on every picture is to be confirmed.
  func begin() { confirmed.withLock { $0 = [] } }

  /// This one is.
  func note(_ url: URL) { confirmed.withLock { _ = $0?.insert(url) } }

  /// The request as it asks the server, if its picture is still to be confirmed.
  func renewing(_ request: ImageRequest) -> ImageRequest {
    guard confirmed.withLock({ $0?.contains(request.http.url) == false }) else { return request }
    var request = request
    request.http.options.cachePolicy = .reloadRevalidatingCacheData
    return request
  }
}
