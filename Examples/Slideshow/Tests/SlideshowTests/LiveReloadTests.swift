import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import Testing

@Suite("The service changes, and the slideshow with it", .timeLimit(.minutes(5)))
struct LiveReloadTests {
  @Test func afterEachAnswerTheServiceIsAskedAgainLater() throws {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport, pollInterval: .seconds(3))

    let effects = state.answer(state.handle(.started), Slideshow(slides: Fixture.slides))

    let (wait, duration) = try #require(effects.wait)
    #expect(duration == .seconds(3))
    #expect(state.handle(.waited(wait)) == [.loadSlides(2)])
    #expect(state.handle(.waited(wait)).isEmpty)
  }

  @Test func withoutAnIntervalTheServiceIsAskedOnce() {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport)

    #expect(state.answer(state.handle(.started), Slideshow(slides: Fixture.slides)).wait == nil)
  }

  @Test func whereNothingChangedNothingHappens() throws {
    var state = Fixture.state(poll: .seconds(3))
    let request = try #require(state.handle(.key(.right)).pictureRequest)
    state.show(request)

    let effects = state.answer(poll(&state), Slideshow(title: "Holiday", slides: Fixture.slides), from: .revalidated)

    #expect(effects.count == 1)
    #expect(effects.allSatisfy { if case .wait = $0 { true } else { false } })
    #expect(state.shownID == Fixture.slides[1].id)
    #expect(state.loading == .loaded)
  }

  @Test func whatChangedIsShownWithoutDuplicates() throws {
    var state = Fixture.state(poll: .seconds(3))
    _ = state.handle(.key(.right))
    let request = try #require(state.handle(.key(.right)).pictureRequest)
    state.show(request)
    _ = state.handle(.key(.character("h")))
    var slides = Array(Fixture.slides.reversed())
    slides.append(Slide(id: SlideID("4"), imageFileName: "new.png"))

    let effects = state.answer(poll(&state), Slideshow(title: "New", slides: slides))

    #expect(state.slides == slides)
    #expect(state.title == "New")
    #expect(state.currentSlide?.id == Fixture.slides[2].id)
    #expect(state.isFavorite(Fixture.slides[2]))
    // It stays visible until the service has confirmed that it is unchanged.
    #expect(state.shownID == Fixture.slides[2].id)
    #expect(effects.pictureRequest?.generation == 1)
  }

  @Test func aSlideThatIsGoneMakesRoomForTheOneInItsPlace() {
    var state = Fixture.state(poll: .seconds(3))
    _ = state.handle(.key(.left))

    state.answer(poll(&state), Slideshow(slides: Array(Fixture.slides.prefix(2))))

    #expect(state.index == 1)
    #expect(state.picture == .loading(completed: 0, total: nil))
  }

  @Test func aServiceThatGoesAndComesBackIsTold() throws {
    var state = Fixture.state(poll: .seconds(3))
    let slideshow = Slideshow(title: "Holiday", slides: Fixture.slides)

    state.answer(poll(&state), slideshow, from: .offline)
    #expect(state.remark?.sentence.contains("does not answer") == true)
    #expect(state.remark?.details.contains("offline: nobody answers at http://localhost:8000/s.json") == true)

    let effects = state.answer(poll(&state), slideshow)
    #expect(state.remark == nil)
    // Pictures that failed in the meantime are tried again.
    #expect(effects.contains(.forgetPictures))
  }

  @Test func aFileThatIsJustBeingWrittenDisturbsNobody() throws {
    var state = Fixture.state(poll: .seconds(3))

    let effects = state.fail(
      poll(&state),
      .slideshowDataDecodingError(try Fixture.url("http://localhost/s"), field: "slides", reason: "it is missing"))

    #expect(state.slides == Fixture.slides)
    #expect(state.trouble?.details.contains("slides: it is missing") == true)
    #expect(effects.wait != nil)
  }

  @Test func aServiceThatComesUpLateIsFound() throws {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport, pollInterval: .seconds(3))
    state.fail(state.handle(.started), .serviceDown(try Fixture.url("http://localhost/s"), reason: "refused"))

    let effects = state.answer(poll(&state), Slideshow(slides: Fixture.slides))

    #expect(effects.pictureRequest?.slide == Fixture.slides[0])
  }

  @Test func anUnchangedServiceIsAskedWithConditionsOnly() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "slideshow-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: "holidayslideshow.json")
    try Data(Fixture.tutorial.utf8).write(to: file)
    let demo = try DemoService(folder: folder)
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)

    #expect(try await client.slideshow().source == .network)
    #expect(try await client.slideshow().source == .revalidated)

    try Data(#"{"title": "Changed", "slides": []}"#.utf8).write(to: file, options: .atomic)
    let changed = try await client.slideshow()
    #expect(changed.source == .network)
    #expect(changed.slideshow.title == "Changed")
  }

  /// The next request for slides after the last one that was answered.
  private func poll(_ state: inout SlideshowState) -> [SlideshowEffect] {
    for number in 1...20 {
      let effects = state.handle(.waited(.poll(number)))
      if !effects.isEmpty { return effects }
    }
    return []
  }
}
