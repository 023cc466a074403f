public import MartletCombine
import Synchronization

/// A place that shows one picture after another: a cell of a list, the stage of a slideshow.
///
/// ```swift
/// let slot = ImageSlot(loader: loader)
/// Task { @MainActor in for await phase in slot.phases { draw(phase) } }
/// slot.show(ImageRequest(first))
/// slot.show(ImageRequest(second))     // gives the first up; nothing of it is ever shown again
/// ```
///
/// Only phases of the request that was shown last appear, on ``phases``, ``publisher`` and ``phase``, and never an older one
/// after a newer. A slot may be used from anywhere; who watches is told on whatever executor it watches from.
public final class ImageSlot: Sendable {
  private struct State: Sendable {
    var phase = ImagePhase.empty
    var key: ImageKey?
    /// Counts the requests, so that what belongs to an older one is known.
    var generation: UInt64 = 0
    var task: Task<Void, Never>?
    var watchers: [UInt64: AsyncStream<ImagePhase>.Continuation] = [:]
    var lastWatcher: UInt64 = 0
    /// Counts the changes, so that whoever tells of one sees whether another came meanwhile.
    var version: UInt64 = 0
    var isTelling = false

    mutating func set(_ phase: ImagePhase) {
      self.phase = phase
      version += 1
    }
  }

  private let loader: ImageLoader
  private let state = Mutex(State())

  /// Makes an empty slot.
  public init(loader: ImageLoader = .shared) { self.loader = loader }

  deinit {
    let last = state.withLock { $0 }
    last.task?.cancel()
    for watcher in last.watchers.values { watcher.finish() }
  }

  /// What is to be shown now.
  public var phase: ImagePhase { state.withLock { $0.phase } }

  /// The phases, beginning with what is so now, until the slot goes. A reader that is busy meanwhile gets the latest one only.
  public var phases: AsyncStream<ImagePhase> {
    let (stream, continuation) = AsyncStream.makeStream(of: ImagePhase.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.lastWatcher += 1
      state.watchers[state.lastWatcher] = continuation
      state.version += 1
      return state.lastWatcher
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.watchers.removeValue(forKey: id) }
    }
    tell()
    return stream
  }

  /// The phases as a publisher: for `sink`, `assign`, `onReceive`. It does not keep the slot alive.
  public var publisher: LatestPublisher<ImagePhase> {
    LatestPublisher { [weak self] in self?.phases ?? AsyncStream { $0.finish() } }
  }

  /// Shows the picture of a request in place of what was there; nil shows nothing.
  ///
  /// A picture that is in memory is there when this returns. The request that is shown already goes on undisturbed, unless it
  /// failed: then it is tried again, as far as the loader tries again.
  public func show(_ request: ImageRequest?) {
    let key = request.map(loader.key)
    let isNew = state.withLock { $0.key != key || $0.phase.error != nil }
    guard isNew else { return }
    let image = request.flatMap(loader.cachedImage)
    let (generation, old) = state.withLock { state in
      state.generation += 1
      state.key = key
      state.set(image.map(ImagePhase.success) ?? (request == nil ? .empty : .loading(nil)))
      defer { state.task = nil }
      return (state.generation, state.task)
    }
    old?.cancel()
    tell()
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

  /// Takes a phase, unless another request is shown by now.
  private func set(_ phase: ImagePhase, _ generation: UInt64) -> Bool {
    let isCurrent = state.withLock { state in
      if state.generation == generation { state.set(phase) }
      return state.generation == generation
    }
    if isCurrent { tell() }
    return isCurrent
  }

  /// Tells everybody what is so. One at a time does this, and does it again where something changed meanwhile: nobody is told
  /// an older phase after a newer one.
  private func tell() {
    var told: UInt64?
    while true {
      let next: State? = state.withLock { state in
        if told == nil, state.isTelling { return nil }
        state.isTelling = told != state.version
        return state.isTelling ? state : nil
      }
      guard let next else { return }
      for watcher in next.watchers.values { watcher.yield(next.phase) }
      told = next.version
    }
  }
}
