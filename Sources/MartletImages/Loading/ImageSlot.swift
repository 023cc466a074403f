public import MartletCombine
import Synchronization

/// The image of a view that shows one after another, such as a cell of a list.
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
    var phase = ImagePhase.empty
    var key: ImageKey?
    /// The number of requests so far, to recognize phases of an earlier one.
    var generation: UInt64 = 0
    var task: Task<Void, Never>?
    var observers: [UInt64: AsyncStream<ImagePhase>.Continuation] = [:]
    var lastObserver: UInt64 = 0
    /// The number of changes so far, to find out whether there was another one during a delivery.
    var version: UInt64 = 0
    /// Whether a thread is delivering the phase to the observers.
    var isDelivering = false

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
    for observer in last.observers.values { observer.finish() }
  }

  /// The current phase.
  public var phase: ImagePhase { state.withLock { $0.phase } }

  /// The phases, beginning with the current one, until the slot is released. A slow reader gets only the latest one.
  public var phases: AsyncStream<ImagePhase> {
    let (stream, continuation) = AsyncStream.makeStream(of: ImagePhase.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      state.lastObserver += 1
      state.observers[state.lastObserver] = continuation
      state.version += 1
      return state.lastObserver
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { _ = $0.observers.removeValue(forKey: id) }
    }
    deliver()
    return stream
  }

  /// The phases as a publisher: for `sink`, `assign`, `onReceive`. It has no strong reference to the slot.
  public var publisher: LatestPublisher<ImagePhase> {
    LatestPublisher { [weak self] in self?.phases ?? AsyncStream { $0.finish() } }
  }

  /// Shows the image of a request in place of the previous one; nil shows nothing.
  ///
  /// If the image is in memory, ``phase`` has it when this returns. If the request is the current one already, its load
  /// continues; if that has failed, it is tried again, unless the loader remembers the failure.
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
    deliver()
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
      if state.generation == generation { state.set(phase) }
      return state.generation == generation
    }
    if isCurrent { deliver() }
    return isCurrent
  }

  /// Delivers the current phase to all observers. One thread at a time does this, and repeats it if the phase changed
  /// meanwhile, so that no observer gets an older phase after a newer one.
  private func deliver() {
    var delivered: UInt64?
    while true {
      let next: State? = state.withLock { state in
        if delivered == nil, state.isDelivering { return nil }
        state.isDelivering = delivered != state.version
        return state.isDelivering ? state : nil
      }
      guard let next else { return }
      for observer in next.observers.values { observer.yield(next.phase) }
      delivered = next.version
    }
  }
}
