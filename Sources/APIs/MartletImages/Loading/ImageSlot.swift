public import MartletCombine
import MartletEngine
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
  private struct State: Sendable {
    var key: ImageKey?
    /// The number of requests so far, which identifies phases of an earlier one.
    var generation: UInt64 = 0
    var task: Task<Void, Never>?
  }

  private let loader: ImageLoader
  private let state = Mutex(State())
  /// Changes only while `state` is locked.
  private let latest = LatestValue(ImagePhase.empty)

  /// Makes an empty slot.
  public init(loader: ImageLoader = .shared) { self.loader = loader }

  deinit { state.withLock { $0.task }?.cancel() }

  /// The current phase.
  public var phase: ImagePhase { latest.current }

  /// The phases, beginning with the current one, until the slot is released. A slow reader gets only the latest one.
  public var phases: AsyncStream<ImagePhase> { latest.values }

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
    let isNew = state.withLock { $0.key != key || latest.current.error != nil }
    guard isNew else { return }
    let image = request.flatMap(loader.cachedImage)
    let (generation, old) = state.withLock { state in
      state.generation += 1
      state.key = key
      latest.setUndelivered { $0 = image.map(ImagePhase.success) ?? (request == nil ? .empty : .loading(nil)) }
      defer { state.task = nil }
      return (state.generation, state.task)
    }
    old?.cancel()
    latest.deliver()
    if image == nil, let request { load(request, generation) }
  }

  private func load(_ request: ImageRequest, _ generation: UInt64) {
    let task = Task { [weak self, loader] in
      for await phase in loader.phases(for: request) {
        guard let self, self.set(phase, generation) else { return }
      }
    }
    let isCurrent = state.withLock { state in
      if state.generation == generation { state.task = task }
      return state.generation == generation
    }
    if !isCurrent { task.cancel() }
  }

  /// Sets the phase, unless there is a newer request. Returns false if there is.
  private func set(_ phase: ImagePhase, _ generation: UInt64) -> Bool {
    let isCurrent = state.withLock { state in
      if state.generation == generation { latest.setUndelivered { $0 = phase } }
      return state.generation == generation
    }
    if isCurrent { latest.deliver() }
    return isCurrent
  }
}
