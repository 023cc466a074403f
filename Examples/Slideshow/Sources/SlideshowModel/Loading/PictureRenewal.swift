import Martlet
import MartletImages
import Synchronization

/// The pictures that the server has validated since the last reload.
final class PictureRenewal: Sendable {
  /// Nil before the first reload: until then, fresh files on disk are used.
  private let confirmed = Mutex<Set<URL>?>(nil)

  /// Begins a reload: every picture is validated from now on.
  func begin() { confirmed.withLock { $0 = [] } }

  /// Records that a picture was validated.
  func note(_ url: URL) { confirmed.withLock { _ = $0?.insert(url) } }

  /// The request. If its picture was not validated yet, the cache policy validates it.
  func renewing(_ request: ImageRequest) -> ImageRequest {
    guard confirmed.withLock({ $0?.contains(request.http.url) == false }) else { return request }
    var request = request
    request.http.options.cachePolicy = .reloadRevalidatingCacheData
    return request
  }
}
