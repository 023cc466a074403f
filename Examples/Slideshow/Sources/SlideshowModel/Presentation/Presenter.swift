import Martlet
import MartletImages

/// Runs the slideshow: handles events one after another, changes the state, draws it, and performs the effects.
///
/// Only the main actor uses the state. Work runs elsewhere and returns as an event, through ``events``. A front end
/// either calls ``run()``, which takes them from there, or passes them to ``handle(_:)`` on the main thread itself. A
/// window does the latter, because its main loop is not Swift's.
@MainActor
package final class Presenter {
  package private(set) var state: SlideshowState
  /// The events, in order, for one consumer.
  package nonisolated let events: AsyncStream<SlideshowEvent>
  private let inbox: AsyncStream<SlideshowEvent>.Continuation
  private let client: SlideshowClient
  private let store: StateStore
  private let clock: any Clock<Duration>
  private let draw: @MainActor (SlideshowState) -> Void
  private var slidesTask: Task<Void, Never>?
  private var pictureTask: Task<Void, Never>?
  private var thumbnailTasks: [PictureRequest: Task<Void, Never>] = [:]
  private var waitTasks: [Wait.Kind: Task<Void, Never>] = [:]

  package init(
    client: SlideshowClient, store: StateStore, state: SlideshowState, clock: any Clock<Duration> = ContinuousClock(),
    draw: @escaping @MainActor (SlideshowState) -> Void
  ) {
    self.client = client
    self.store = store
    self.state = state
    self.clock = clock
    self.draw = draw
    (events, inbox) = AsyncStream.makeStream()
  }

  /// Sends an event; may be called from any thread.
  package nonisolated func tell(_ event: SlideshowEvent) { inbox.yield(event) }

  /// Runs until the user quits.
  package func run() async {
    tell(.started)
    for await event in events where !handle(event) { break }
  }

  /// Handles an event.
  ///
  /// - Returns: whether the slideshow continues; false when the user quits.
  package func handle(_ event: SlideshowEvent) -> Bool {
    var effects = state.handle(event)[...]
    while let effect = effects.popFirst() {
      guard effect != .quit else {
        stop()
        return false
      }
      effects += perform(effect)
    }
    draw(state)
    return true
  }

  private func stop() {
    for task in [slidesTask, pictureTask] { task?.cancel() }
    for task in waitTasks.values { task.cancel() }
    loadThumbnails([])
    client.prefetch([])
    inbox.finish()
  }

  /// Performs an effect; returns the effects that follow from it.
  private func perform(_ effect: SlideshowEffect) -> [SlideshowEffect] {
    switch effect {
    case .loadSlides(let number):
      slidesTask?.cancel()
      // All tasks are detached: in a window, the main actor's queue is not served.
      slidesTask = Task.detached { [client, inbox] in
        inbox.yield(.slides(number, await client.slides()))
      }
    case .loadPicture(let request): return load(request)
    case .prefetch(let requests): client.prefetch(requests)
    case .loadThumbnails(let requests): loadThumbnails(requests)
    case .forgetPictures: client.forgetPictures()
    case .wait(let wait, let duration): begin(wait, duration)
    case .save(let kept): if let warning = store.save(kept) { tell(.warning(warning)) }
    case .quit: break
    }
    return []
  }

  /// Shows a picture in memory at once, without a loading indicator.
  private func load(_ request: PictureRequest) -> [SlideshowEffect] {
    pictureTask?.cancel()
    if let image = client.pictureInMemory(request) {
      let origin = client.origin(of: request)
      return state.handle(.picture(request, .success(ShownPicture(request, image, origin: origin))))
    }
    pictureTask = Task.detached { [client, inbox] in
      let result = await client.shownPicture(request) { step in
        inbox.yield(.progress(request, completed: step.completed, total: step.total))
      }
      inbox.yield(.picture(request, result))
    }
    return []
  }

  private func begin(_ wait: Wait, _ duration: Duration) {
    let task = Task.detached { [clock, inbox] in
      // a cancelled wait is not an event
      if (try? await clock.sleep(for: duration)) != nil { inbox.yield(.waited(wait)) }
    }
    waitTasks.updateValue(task, forKey: wait.kind)?.cancel()
  }

  private func loadThumbnails(_ requests: [PictureRequest]) {
    for request in Set(thumbnailTasks.keys).subtracting(requests) {
      thumbnailTasks.removeValue(forKey: request)?.cancel()
    }
    for request in requests where thumbnailTasks[request] == nil {
      thumbnailTasks[request] = Task.detached { [client, inbox] in
        let bitmap = await client.thumbnail(request)
        if !Task.isCancelled { inbox.yield(.thumbnail(request, bitmap)) }
      }
    }
  }
}

extension SlideshowClient {
  /// The slides, or the error, as a value.
  fileprivate func slides() async -> Result<ServedSlideshow, SlideshowError> {
    do { return .success(try await slideshow()) } catch { return .failure(error) }
  }

  /// The picture, or the error, as a value.
  fileprivate func shownPicture(
    _ request: PictureRequest, progress: @escaping @Sendable (Event.Progress) -> Void
  ) async -> Result<ShownPicture, PictureError> {
    do {
      let image = try await picture(request, progress: progress)
      return .success(ShownPicture(request, image, origin: origin(of: request)))
    } catch {
      return .failure(error)
    }
  }
}
