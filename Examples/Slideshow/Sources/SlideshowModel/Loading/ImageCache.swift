package import MartletSemantics
import Synchronization

/// Keeps the pictures that were shown last, and sees to it that each is fetched once.
///
/// ```swift
/// ImageCache.shared[url] = picture
/// let picture = ImageCache.shared[url]
/// ```
///
/// The key is the whole URL, so two servers never share a picture. Beyond the limit the picture that was not used for
/// the longest time goes. Only pictures are kept: a load that failed is remembered as failed, and not tried again
/// until ``removeAll()``.
package final class ImageCache: Sendable {
  /// The one that the application uses.
  package static let shared = ImageCache()
  private let shelf: Mutex<Shelf>

  /// Makes a cache of so many pictures: 10 by default.
  package init(limit: Int = 10) { shelf = Mutex(Shelf(limit: max(1, limit))) }

  /// The picture of a URL. Reading counts as use. Setting nil removes the picture, and what is known of a failure.
  ///
  /// A load that is under way does not overwrite what was set meanwhile.
  package subscript(url: URL) -> Picture? {
    get { shelf.withLock { $0.picture(for: url) } }
    set { shelf.withLock { $0.set(newValue, for: url) } }
  }

  /// How many pictures there are.
  package var count: Int { shelf.withLock { $0.count } }

  /// Removes all pictures and failures; loads that are under way are not kept when they end.
  package func removeAll() { shelf.withLock { $0.removeAll() } }

  /// The picture of a URL, loaded if it is not there. Callers who come while it is being loaded wait for that one load.
  ///
  /// A load that no caller waits for any more, because all were cancelled, is cancelled.
  ///
  /// - Returns: the picture, and whether it was there already.
  package func picture(
    for url: URL, load: @escaping @Sendable () async -> Result<Picture, PictureError>
  ) async throws(PictureError) -> (Picture, isKept: Bool) {
    // A task is only made under the lock; it runs later, and not here.
    let claim = shelf.withLock { shelf in
      shelf.claim(url) { id in
        Task {
          let result = await load()
          self.shelf.withLock { $0.finish(url, id: id, result) }
          return result
        }
      }
    }
    switch claim {
    case .held(let picture): return (picture, true)
    case .failed(let error): throw error
    case .wait(let load):
      let result = await withTaskCancellationHandler {
        await load.task.value
      } onCancel: {
        self.shelf.withLock { $0.leave(url, id: load.id) }?.cancel()
      }
      return (try result.get(), false)
    }
  }
}
