import Synchronization

/// Loads pictures before they are needed, and gives those up that are not needed any more.
///
/// ```swift
/// let prefetcher = ImagePrefetcher(loader: loader)
/// prefetcher.move(to: requests[position..<position + 10])     // whenever the list has scrolled
/// ```
///
/// Pictures come into the loader's memory, with the priority ``ImagePriority/low``: whoever asks for one joins its load, and
/// makes it as urgent as it is. What failed is not tried again as long as it stays in the window. All is given up when the
/// prefetcher goes.
public final class ImagePrefetcher: Sendable {
  private let loader: ImageLoader
  private let tasks = Mutex<[ImageKey: Task<Void, Never>]>([:])

  /// Makes a prefetcher without a window.
  public init(loader: ImageLoader = .shared) { self.loader = loader }

  deinit { move(to: []) }

  /// Sets the window: what is new in it and not in memory is loaded, in this order; what has left it is cancelled, unless
  /// somebody else waits for it. What is no plain GET is passed over, as its picture is not kept. Nothing is counted as coming
  /// from memory.
  ///
  /// How many pictures the window may have depends on their size and on the cache's: what does not fit displaces what was
  /// loaded first.
  public func move(to window: some Sequence<ImageRequest>) {
    let wanted = window.map { (key: loader.key(for: $0), request: $0.priority(.low)) }.filter { $0.key.instance == 0 }
    let keys = Set(wanted.map(\.key))
    let missing = wanted.filter { !loader.hasInMemory($0.request) }
    let left = tasks.withLock { tasks in
      let left = tasks.filter { !keys.contains($0.key) }
      for key in left.keys { tasks[key] = nil }
      // A task is only made here; it runs later.
      for (key, request) in missing where tasks[key] == nil {
        tasks[key] = Task { [loader] in _ = try? await loader.image(for: request) }
      }
      return left.values
    }
    for task in left { task.cancel() }
  }
}
