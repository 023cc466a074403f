import Synchronization

/// Loads images before they are needed, and cancels the loads that are no longer needed.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(loader: loader)
/// prefetcher.prefetch(requests[position..<position + 10])     // each time the list has scrolled
/// ```
///
/// Images are loaded into the loader's memory with the priority ``ImagePriority/low``. A caller that requests one of
/// them joins its load, which then gets the caller's priority. A failed image is not loaded again while it stays in the
/// window. When the prefetcher is released, all its loads are cancelled.
public final class ImagePrefetcher: Sendable {
  private let loader: ImageLoader
  private struct Load: Sendable {
    let number: Int
    /// Nil until the task was made.
    var task: Task<Void, Never>?
  }

  private struct State: Sendable {
    var loads: [ImageKey: Load] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  /// Makes a prefetcher that loads nothing yet.
  public init(loader: ImageLoader = .shared) { self.loader = loader }

  deinit { prefetch([]) }

  /// Sets the window of images that may be needed next. Images that are new in it and not in memory are loaded, in this
  /// order. Loads of images that have left it are cancelled, unless another caller waits for them. Requests other than
  /// plain GETs are skipped, because their images are not cached. Images that are already in memory do not change the
  /// loader's statistics.
  ///
  /// The window's possible size depends on the size of the images and the limit of the cache: if they do not fit, the
  /// images that were loaded first are removed.
  public func prefetch(_ window: some Sequence<ImageRequest>) {
    let wanted = window.map { (key: loader.key(for: $0), request: $0.priority(.low)) }.filter { $0.key.instance == 0 }
    let keys = Set(wanted.map(\.key))
    let missing = wanted.filter { !loader.hasInMemory($0.request) }
    let (obsolete, new) = state.withLock { state in
      let obsolete = state.loads.filter { !keys.contains($0.key) }
      for key in obsolete.keys { state.loads[key] = nil }
      var new: [(key: ImageKey, request: ImageRequest, number: Int)] = []
      for (key, request) in missing where state.loads[key] == nil {
        state.lastNumber += 1
        state.loads[key] = Load(number: state.lastNumber)
        new.append((key, request, state.lastNumber))
      }
      return (obsolete.values, new)
    }
    for load in obsolete { load.task?.cancel() }
    for (key, request, number) in new {
      let task = Task { [loader] in _ = try? await loader.image(for: request) }
      let isWanted = state.withLock { state in
        guard state.loads[key]?.number == number else { return false }
        state.loads[key]?.task = task
        return true
      }
      if !isWanted { task.cancel() }
    }
  }
}
