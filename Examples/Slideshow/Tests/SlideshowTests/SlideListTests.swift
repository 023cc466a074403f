import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite("The slides are loaded at the start and listed", .timeLimit(.minutes(5)))
struct SlideListTests {
  @Test func theListHasALineForEachSlideAndASummary() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    var lines: [String] = []

    try await SlideList.run(client: client, kept: KeptState()) { lines.append($0) }

    #expect(lines.count == 9)
    #expect(lines[1] == "♡ 10  Ready for the journey  512×512  68052 bytes  network")
    #expect(lines[4].contains("missing: The web service does not have this picture. (the server answered 404"))
    #expect(lines[8].hasPrefix("7 slides, 6 pictures, 1 missing, 937699 bytes"))
  }

  @Test func theStartAsksForTheSlides() {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport)

    #expect(state.handle(.started) == [.loadSlides(1)])
    #expect(state.hint == ["Loading the slides", "s"])
  }

  @Test func thePresentTabShowsTheFirstSlideAsSoonAsTheSlidesArrive() {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport)
    #expect(state.tab == .present)

    let effects = state.answer(state.handle(.started), Slideshow(slides: Fixture.slides))

    #expect(effects.pictureRequest?.slide == Fixture.slides[0])
    #expect(state.picture == .loading(completed: 0, total: nil))
  }

  @Test func withoutSlidesTheServiceIsNamed() {
    let state = Fixture.state(slides: [])

    #expect(state.hint?.contains { $0.contains("Check if the web service is running") } == true)
    #expect(state.hint?.contains { $0.contains("http://localhost:8000/s.json") } == true)
  }

  @Test func aServiceThatIsDownIsNamedWithTheReason() throws {
    var state = SlideshowState(service: "http://localhost:8000/s.json", viewport: Fixture.viewport)
    let url = try Fixture.url("http://localhost:8000/s.json")

    state.fail(state.handle(.started), .serviceDown(url, reason: "connection refused"))

    let text = state.hint?.joined(separator: " ") ?? ""
    #expect(text.contains("does not answer"))
    #expect(text.contains("http://localhost:8000/s.json"))
    #expect(text.contains("check if the web service is running"))
    #expect(state.trouble == nil)
  }

  @Test func olderSlidesNeverReplaceNewerOnes() {
    var state = Fixture.state()
    let older = state.handle(.key(.character("r")))
    let newer = state.handle(.key(.character("r")))

    state.answer(newer, Slideshow(slides: [Fixture.slides[0]]))
    state.answer(older, Slideshow(slides: Fixture.slides))

    #expect(state.slides == [Fixture.slides[0]])
  }

  @Test func reloadReplacesAndKeepsSlideAndFavourites() {
    var state = Fixture.state()
    _ = state.handle(.key(.right))
    _ = state.handle(.key(.character("h")))
    let reordered = [Fixture.slides[1], Fixture.slides[0]]

    let effects = state.answer(state.handle(.key(.character("r"))), Slideshow(slides: reordered))

    #expect(effects.contains(.forgetPictures))
    #expect(state.slides == reordered)
    #expect(state.currentSlide?.id == Fixture.slides[1].id)
    #expect(state.isFavorite(Fixture.slides[1]))
    #expect(!state.isFavorite(Fixture.slides[0]))
  }

  @Test func aReloadThatFailsLeavesTheSlides() throws {
    var state = Fixture.state()

    state.fail(
      state.handle(.key(.character("r"))), .unexpectedStatusCode(500, try Fixture.url("http://localhost/s")))

    #expect(state.slides == Fixture.slides)
    #expect(state.remark?.details.contains("500") == true)
    #expect(state.loading == .loaded)
  }
}
