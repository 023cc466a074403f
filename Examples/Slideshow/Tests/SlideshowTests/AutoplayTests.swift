import MartletEngine
import MartletImages
import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite("Auto-play", .timeLimit(.minutes(5)))
struct AutoplayTests {
  /// A state whose slides play, and the interval that is running.
  private func playing(slides: [Slide] = Fixture.slides) throws -> (SlideshowState, Wait) {
    var state = Fixture.state(slides: slides, poll: .seconds(3))
    state.showWanted()
    let (wait, duration) = try #require(state.handle(.key(.character("a"))).wait)
    #expect(duration == .seconds(5))
    #expect(state.autoplay == .playing)
    return (state, wait)
  }

  @Test func theNextSlideComesAfterTheInterval() throws {
    var (state, wait) = try playing()

    for index in [1, 2, 0] {
      let request = try #require(state.handle(.waited(wait)).pictureRequest)
      #expect(state.index == index)
      #expect(state.turn == .forward)
      wait = try #require(state.show(request).wait).0
    }
  }

  @Test func theIntervalIsAsLongAsItWasGiven() throws {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport, autoplayInterval: .seconds(2))
    state.answer(state.handle(.started), Slideshow(slides: Fixture.slides))
    state.showWanted()

    #expect(try #require(state.handle(.key(.character("a"))).wait).1 == .seconds(2))
    #expect(state.statusParts.contains("▶ playing, 2 s each"))
  }

  @Test func aPictureThatIsOnItsWayIsNotSkipped() throws {
    var (state, wait) = try playing()

    let effects = state.handle(.waited(wait))
    let request = try #require(effects.pictureRequest)
    #expect(effects.wait == nil)
    #expect(state.handle(.progress(request, completed: 1, total: 2)).wait == nil)

    // A slide without a picture is also passed after its time.
    #expect(state.handle(.picture(request, .failure(.noFileName))).wait != nil)
  }

  @Test func itBeginsBeforeTheSlidesAreThere() throws {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport)
    #expect(state.handle(.command(.autoplay(true))).isEmpty)
    let request = try #require(
      state.answer(state.handle(.started), Slideshow(slides: Fixture.slides)).pictureRequest)

    #expect(state.show(request).wait != nil)
  }

  @Test func aStopsItAndStartsItAgain() throws {
    var (state, wait) = try playing()

    #expect(state.handle(.key(.character("a"))).isEmpty)
    #expect(state.autoplay == .off)
    #expect(state.handle(.waited(wait)).isEmpty)
    #expect(state.handle(.key(.character("a"))).wait != nil)
  }

  @Test(arguments: [
    SlideshowEvent.key(.right), .key(.left), .key(.tab), .key(.character("t")), .swipe(x: 50, y: 0),
    .command(.select(SlideID("2"))), .command(.open(SlideID("2"))),
  ])
  func whoTurnsPagesOrGoesElsewhereStopsIt(event: SlideshowEvent) throws {
    var (state, wait) = try playing()

    let effects = state.handle(event)
    let index = state.index
    if let request = effects.pictureRequest { #expect(state.show(request).wait == nil) }
    _ = state.handle(.waited(wait))

    #expect(state.autoplay == .off)
    #expect(state.index == index)
  }

  @Test func aClickStopsItAndIsOneStep() throws {
    var (state, turn) = try playing()

    let (click, _) = try #require(state.handle(.click(1, at: 0.9)).wait)
    // The interval ends before the second click could have come.
    #expect(state.handle(.waited(turn)).isEmpty)
    _ = state.handle(.waited(click))

    #expect(state.index == 1)
    #expect(state.autoplay == .off)
  }

  @Test(arguments: [Key.character("h"), .character("f"), .character("r"), .escape])
  func whatElseOneDoesOnlyBeginsTheIntervalAnew(key: Key) throws {
    var (state, old) = try playing()

    let effects = state.handle(.key(key))
    #expect(state.handle(.waited(old)).isEmpty)
    #expect(state.autoplay == .playing)
    let later = effects.wait ?? effects.pictureRequest.flatMap { state.show($0).wait }
    _ = state.handle(.waited(try #require(later).0))

    #expect(state.index == 1)
  }

  @Test(arguments: [Key.character("?"), .character("d")])
  func noPageTurnsWhileHelpOrDetailsAreRead(key: Key) throws {
    var (state, wait) = try playing()

    #expect(state.handle(.key(key)).wait == nil)
    #expect(state.handle(.waited(wait)).isEmpty)
    #expect(state.handle(.key(key)).wait != nil)
  }

  @Test func itWaitsForAServiceThatGoesAndGoesOnWithIt() throws {
    var (state, wait) = try playing()
    let slideshow = Slideshow(title: "Holiday", slides: Fixture.slides)

    state.answer(state.handle(.waited(.poll(1))), slideshow, from: .offline)
    #expect(state.autoplay == .waitingForService)
    #expect(state.handle(.waited(wait)).isEmpty)
    #expect(state.statusParts.contains("auto-play waits for the service"))
    #expect(state.remark?.sentence.contains("Auto-play waits for it") == true)

    let request = try #require(state.answer(state.handle(.waited(.poll(2))), slideshow).pictureRequest)
    #expect(state.autoplay == .playing)
    #expect(state.show(request).wait != nil)
  }

  @Test func aServiceThatGoesWithoutACacheIsWaitedForToo() throws {
    var (state, _) = try playing()

    state.fail(
      state.handle(.waited(.poll(1))), .serviceDown(try Fixture.url("http://localhost/s"), reason: "refused"))

    #expect(state.autoplay == .waitingForService)
  }

  @Test func withoutTheServiceItPlaysForWhoAsksForThat() throws {
    var (state, _) = try playing()
    let slideshow = Slideshow(title: "Holiday", slides: Fixture.slides)
    state.answer(state.handle(.waited(.poll(1))), slideshow, from: .offline)

    let (wait, _) = try #require(state.handle(.key(.character("a"))).wait)
    #expect(state.autoplay == .playing)
    // It is not stopped again because the service is still away.
    state.answer(state.handle(.waited(.poll(2))), slideshow, from: .offline)
    #expect(state.handle(.waited(wait)).pictureRequest != nil)
  }

  @Test func whatIsShownWithoutAServiceFromTheBeginningPlays() throws {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport, pollInterval: .seconds(3))
    _ = state.handle(.command(.autoplay(true)))

    let effects = state.answer(state.handle(.started), Slideshow(slides: Fixture.slides), from: .offline)

    #expect(state.autoplay == .playing)
    #expect(state.show(try #require(effects.pictureRequest)).wait != nil)
  }

  @Test func aSingleSlideDoesNotTurn() {
    var state = Fixture.state(slides: [Fixture.slides[0]])
    state.showWanted()

    #expect(state.handle(.key(.character("a"))).isEmpty)
  }

  @Test func fromTheListItGoesToThePictures() {
    var state = Fixture.state()
    state.showWanted()
    _ = state.handle(.key(.tab))

    #expect(state.handle(.key(.character("a"))).wait != nil)
    #expect(state.tab == .present)
  }

  @Test @MainActor func thePresenterTurnsThePagesWhenItIsTime() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let clock = ManualClock()
    var presenter: Presenter?
    var seen: [Int] = []
    let running = Presenter(
      client: client, store: StateStore(file: Fixture.stateFile(), name: "test"),
      state: SlideshowState(service: "test", viewport: Fixture.viewport), clock: clock
    ) { state in
      guard case .shown = state.picture, seen.last != state.index else { return }
      seen.append(state.index)
      if seen.count == 3 { presenter?.tell(.command(.quit)) }
    }
    presenter = running
    running.tell(.command(.autoplay(true)))
    let time = Task.detached {
      for _ in 0..<2 {
        try await clock.sleepers(1)
        clock.advance(by: .seconds(5))
      }
    }

    await running.run()
    try await time.value

    #expect(seen == [0, 1, 2])
  }

  @Test func theKeysSayWhatTheKeyDoesNow() throws {
    let (state, _) = try playing()

    #expect(KeyBinding.labels(in: Fixture.state()).contains("a play"))
    #expect(KeyBinding.labels(in: state).contains("a stop"))
  }
}
