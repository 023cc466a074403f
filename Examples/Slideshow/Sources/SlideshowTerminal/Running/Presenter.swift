import Martlet
import MartletImages
package import SlideshowModel

/// Runs the slideshow: takes events one after another, changes the state, draws it, and does what is to be done.
///
/// The state is touched here only, on the main actor; work goes on elsewhere and comes back as an event.
@MainActor
package final class Presenter {
  private var state: SlideshowState
  private let client: SlideshowClient
  private let store: StateStore
  private let draw: @MainActor (SlideshowState) -> Void
  private let events: AsyncStream<SlideshowEvent>
  private let inbox: AsyncStream<SlideshowEvent>.Continuation
  private var slidesTask: Task<Void, Never>?
  private var pictureTask: Task<Void, Never>?

  package init(
    client: SlideshowClient, store: StateStore, screen: ScreenSize,
    draw: @escaping @MainActor (SlideshowState) -> Void
  ) {
    let (kept, warning) = store.load()
    state = SlideshowState(kept: kept, screen: screen, notice: warning)
    self.client = client
    self.store = store
    self.draw = draw
    (events, inbox) = AsyncStream.makeStream()
  }

  /// Tells what happened; may be called from anywhere.
  package nonisolated func tell(_ event: SlideshowEvent) { inbox.yield(event) }

  /// Runs until somebody quits.
  package func run() async {
    tell(.started)
    for await event in events {
      let effects = state.handle(event)
      if effects.contains(.quit) { break }
      effects.forEach(perform)
      draw(state)
    }
    slidesTask?.cancel()
    pictureTask?.cancel()
  }

  private func perform(_ effect: SlideshowEffect) {
    switch effect {
    case .loadSlides(let number):
      slidesTask?.cancel()
      slidesTask = Task { [client, inbox] in
        inbox.yield(.slides(number, await client.slides()))
      }
    case .loadPicture(let number, let slide, let mode, let box):
      pictureTask?.cancel()
      pictureTask = Task { [client, inbox] in
        let result = await client.shownPicture(of: slide, mode, box) { completed, total in
          inbox.yield(.progress(number, completed: completed, total: total))
        }
        inbox.yield(.picture(number, slide.id, result))
      }
    case .forgetFailures: client.forgetFailures()
    case .save(let kept): if let warning = store.save(kept) { tell(.warning(warning)) }
    case .quit: break
    }
  }
}

extension SlideshowClient {
  /// The slides, or why there are none, as a value.
  fileprivate nonisolated func slides() async -> Result<Slideshow, SlideshowError> {
    do { return .success(try await slideshow()) } catch { return .failure(error) }
  }

  /// The picture in the size that is shown; fetching and decoding happen outside the main actor.
  fileprivate nonisolated func shownPicture(
    of slide: Slide, _ mode: Picture.Mode, _ box: PixelSize,
    progress: @escaping @Sendable (Int64, Int64?) -> Void
  ) async -> Result<ShownPicture, PictureError> {
    let arrival: Arrival
    do { arrival = try await picture(for: slide) { progress($0.completed, $0.total) } } catch { return .failure(error) }
    do {
      let shown = ShownPicture(
        bitmap: try arrival.picture.bitmap(mode, box), size: arrival.picture.size, bytes: arrival.picture.data.count,
        source: "\(arrival.source)", milliseconds: arrival.duration.milliseconds)
      return .success(shown)
    } catch {
      return .failure(.notAnImage(configuration.imageBase, reason: error.message))
    }
  }
}
