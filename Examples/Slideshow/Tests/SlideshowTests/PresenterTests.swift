import MartletEngine
import MartletImages
import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite("Events and effects meet", .timeLimit(.minutes(5)))
@MainActor
struct PresenterTests {
  /// Runs a presenter until a state satisfies the test; returns that state.
  private func state(
    of client: SlideshowClient, file: URL = Fixture.stateFile(), afterSlides: @escaping (Presenter) -> Void = { _ in },
    until isWanted: @escaping (SlideshowState) -> Bool
  ) async -> SlideshowState? {
    var found: SlideshowState?
    var hasSlides = false
    var presenter: Presenter?
    let start = SlideshowState(service: "test", viewport: Fixture.viewport)
    let running = Presenter(client: client, store: StateStore(file: file, name: "test"), state: start) {
      if !hasSlides, !$0.slides.isEmpty {
        hasSlides = true
        if let presenter { afterSlides(presenter) }
      }
      if found == nil, isWanted($0) {
        found = $0
        presenter?.tell(.command(.quit))
      }
    }
    presenter = running
    await running.run()
    return found
  }

  @Test func theFirstPictureAppearsByItself() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)

    let state = await state(of: client) { if case .shown = $0.picture { true } else { false } }

    #expect(state?.title == "Holiday Slideshow")
    #expect(state?.index == 0)
    guard case .shown(let shown) = state?.picture else { return }
    #expect(shown.facts.bytes == 68052)
    #expect(shown.bitmap.size.height <= 16)
  }

  @Test func changesFromManyTasksAreAppliedOneAfterAnother() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    var titles: [Int] = []

    let state = await state(of: client) { presenter in
      for _ in 0..<8 { Task.detached { for _ in 0..<125 { presenter.tell(.key(.right)) } } }
    } until: { state in
      if titles.last != state.index { titles.append(state.index) }
      return titles.count > 1000
    }

    // A thousand steps through seven slides: none is lost and none is skipped.
    #expect(titles == (0...1000).map { $0 % 7 })
    #expect(state?.index == 1000 % 7)
  }

  @Test func aServiceThatIsDownIsToldAndFoundAgainByReload() async throws {
    let server = try LoopbackServer { _ in .json(Fixture.tutorial) }
    let client = try Fixture.client(server)
    server.stop()
    defer { withExtendedLifetime(server) {} }  // its port stays its own

    let state = await state(of: client) { if case .failed = $0.loading { true } else { false } }

    guard case .failed(let reason) = state?.loading else { return }
    #expect(reason.sentence.contains("check if the web service is running"))
  }

  @Test func theServiceIsAskedAgainWhenItIsTime() async throws {
    let titles = ["One", "Two", "Three"]
    let asked = Journal<Int>()
    let server = try LoopbackServer { _ in
      asked.append(1)
      return .json(#"{"title": "\#(titles[min(asked.entries.count, 3) - 1])", "slides": []}"#)
    }
    let clock = ManualClock()
    let state = SlideshowState(service: "test", viewport: Fixture.viewport, pollInterval: .seconds(3))
    var seen: [String] = []
    var presenter: Presenter?
    let running = Presenter(
      client: try Fixture.client(server), store: StateStore(file: Fixture.stateFile(), name: "test"), state: state,
      clock: clock
    ) { state in
      guard state.loading == .loaded, seen.last != state.title else { return }
      seen.append(state.title)
      if seen.count == 3 { presenter?.tell(.command(.quit)) }
    }
    presenter = running
    let time = Task.detached {
      for _ in 0..<2 {
        try await clock.sleepers(1)
        clock.advance(by: .seconds(3))
      }
    }

    await running.run()
    try await time.value

    #expect(seen == titles)
    #expect(asked.entries.count == 3)
  }

  @Test func theNeighboursAreFetchedAheadAndNothingElse() async throws {
    let files = StaticFolder(DemoService.photos)
    let server = try LoopbackServer { request in files.reply(to: request) }
    let state = SlideshowState(service: "test", viewport: Fixture.viewport)
    let presenter = Presenter(
      client: try Fixture.client(server), store: StateStore(file: Fixture.stateFile(), name: "test"), state: state
    ) { _ in }
    let running = Task { await presenter.run() }

    _ = try await server.request(5)
    presenter.tell(.command(.quit))
    await running.value

    #expect(
      Set(server.requests.map(\.path)) == [
        "/holidayslideshow.json", "/astronaut.jpg", "/rocket.jpg", "/hubble-deep-field.jpg", "/cameraman.png",
      ])
  }

  @Test func whatIsInMemoryIsShownWithoutALoadingSymbol() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let second = try await client.slideshow().slideshow.slides[1]
    _ = try await client.picture(PictureRequest(slide: second, mode: .fit, box: Fixture.viewport.fit))

    let state = await state(of: client) { presenter in
      presenter.tell(.key(.right))
    } until: {
      $0.index == 1
    }

    guard case .shown(let shown) = state?.picture else {
      Issue.record("expected a picture at once, got \(state?.picture as Any)")
      return
    }
    #expect(shown.source == .memory)
    // Its file came over the network, when it was fetched ahead.
    #expect(shown.facts.origin == .session(.network))
  }

  /// Everything that a front end does without the user's action: the service changes, and the window follows.
  @Test func aServiceThatChangesIsFollowedByTheSlideAndItsMark() async throws {
    let titles = ["One", "Two"]
    let asked = Journal<Int>()
    let photo = try Fixture.photo()
    let server = try LoopbackServer { request in
      guard request.path.hasSuffix(".json") else { return .data(photo, type: "image/jpeg") }
      asked.append(1)
      let slides =
        asked.entries.count == 1
        ? #"{"id": 1, "file": "a.jpg"}, {"id": 2, "file": "b.jpg"}"# : #"{"id": 2, "file": "b.jpg"}"#
      return .json(#"{"title": "\#(titles[min(asked.entries.count, 2) - 1])", "slides": [\#(slides)]}"#)
    }
    let clock = ManualClock()
    let start = SlideshowState(service: "test", viewport: Fixture.viewport, pollInterval: .seconds(3))
    var presenter: Presenter?
    var last: SlideshowState?
    var steps = 0
    let file = Fixture.stateFile()
    defer { try? FileManager.default.removeItem(at: file.deletingLastPathComponent()) }
    let running = Presenter(
      client: try Fixture.client(server), store: StateStore(file: file, name: "test"), state: start, clock: clock
    ) { state in
      last = state
      guard case .shown(let shown) = state.picture, shown.request.slide.id == state.currentSlide?.id else { return }
      switch steps {
      case 0: presenter?.tell(.key(.right))
      case 1: presenter?.tell(.key(.character("h")))
      case 2:
        Task.detached {
          try await clock.sleepers(1)
          clock.advance(by: .seconds(3))
        }
      default: if state.title == "Two" { presenter?.tell(.command(.quit)) }
      }
      steps += 1
    }
    presenter = running

    await running.run()

    #expect(last?.slides.map(\.id) == [SlideID("2")])
    #expect(last?.currentSlide.map { last?.isFavorite($0) == true } == true)
  }
}
