public import MartletCombine
@_spi(Toolkit) import MartletEngine
import Synchronization

/// The image of a view that shows one image after another, such as a cell of a list.
///
/// ```swift
/// let slot = ImageSlot(loader: loader)
/// Task { @MainActor in for await phase in slot.phases { draw(phase) } }
/// slot.show(ImageRequest(first))
/// slot.show(ImageRequest(second))     // cancels the first; none of its phases are delivered any more
/// ```
///
/// ``phases``, ``publisher`` and ``phase`` have only phases of the latest request, and never an older one after a
/// newer. A slot may be used from any thread.
public final class ImageSlot: Sendable {
  /// The latest request, and its phase.
  private struct Shown: Sendable {
    var key: ImageKey?
    /// The number of requests so far, which identifies phases of an earlier one.
    var generation: UInt64 = 0
    var phase = ImagePhase.empty
  }

  /// The load of a request.
  private struct Load {
    var generation: UInt64 = 0
    var task: Task<Void, Never>?
  }

  private let loader: ImageLoader
  private let shown = LatestValue(Shown())
  private let load = Mutex(Load())

  /// Makes an empty slot.
  public init(loader: ImageLoader = .shared) { self.loader = loader }

  deinit { load.withLock { $0.task }?.cancel() }

  /// The current phase.
  public var phase: ImagePhase { shown.current.phase }

  /// The phases, beginning with the current one, until the slot is released. A slow reader gets only the latest one.
  public var phases: AsyncStream<ImagePhase> { shown.values(of: \.phase) }

  /// The phases as a publisher: for `sink`, `assign`, `onReceive`. It has no strong reference to the slot.
  public var publisher: LatestPublisher<ImagePhase> {
    LatestPublisher { [weak self] in self?.phases ?? AsyncStream { $0.finish() } }
  }

  /// Shows the image of a request in place of the previous one; nil shows nothing.
  ///
  /// If the image is in memory, ``phase`` has it when this returns. If the request is already the current one, its load
  /// continues; if that has failed, it is tried again, unless the loader remembers the failure.
  public func show(_ request: ImageRequest?) {
    let key = request.map(loader.key)
    let current = shown.current
    guard current.key != key || current.phase.error != nil else { return }
    let image = request.flatMap(loader.cachedImage)
    let generation = shown.change { shown in
      shown.generation += 1
      shown.key = key
      shown.phase = image.map(ImagePhase.success) ?? (request == nil ? .empty : .loading(nil))
      return shown.generation
    }
    replaceLoad(by: nil, generation)
    if image == nil, let request { load(request, generation) }
  }

  private func load(_ request: ImageRequest, _ generation: UInt64) {
    let task = Task { [weak self, loader] in
      for await phase in loader.phases(for: request) {
        guard let self, self.set(phase, generation) else { return }
      }
    }
    replaceLoad(by: task, generation)
  }

  /// Cancels the load of an earlier request; if there is a newer one, the task is cancelled instead.
  private func replaceLoad(by task: Task<Void, Never>?, _ generation: UInt64) {
    let cancelled = load.withLock { load in
      guard generation >= load.generation else { return task }
      defer { load = Load(generation: generation, task: task) }
      return load.task
    }
    cancelled?.cancel()
  }

  /// Sets the phase, unless there is a newer request. Returns false if there is.
  private func set(_ phase: ImagePhase, _ generation: UInt64) -> Bool {
    shown.change(if: { $0.generation == generation }) { $0.phase = phase }
  }
}
