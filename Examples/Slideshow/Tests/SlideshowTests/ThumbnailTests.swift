import Martlet
import MartletEngine
import MartletImages
import MartletTesting
import SlideshowModel
import SlideshowService
import SlideshowTerminal
import Testing

@Suite("Small pictures in the list", .timeLimit(.minutes(5)))
struct ThumbnailTests {
  private static let screen = ScreenSize(columns: 80, rows: 24)
  private static let bitmap = Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255])

  private func state(slides: [Slide] = Fixture.slides) -> SlideshowState {
    var state = Fixture.state(slides: slides)
    _ = state.handle(.resized(Self.screen.viewport))
    return state
  }

  @Test func theyAreFetchedWhenTheListIsShownAndTheCurrentSlidesFirst() throws {
    var state = state()
    #expect(state.handle(.key(.right)).thumbnails == nil)

    let requests = try #require(state.handle(.key(.tab)).thumbnails)

    #expect(requests.map(\.slide) == [Fixture.slides[1], Fixture.slides[0], Fixture.slides[2]])
    #expect(requests.allSatisfy { $0.box == PixelSize(width: 9, height: 5) })
  }

  @Test func theyAreGivenUpWhenTheListIsLeftAndAskedForAgain() throws {
    var state = state()
    let requests = try #require(state.handle(.key(.tab)).thumbnails)
    _ = state.handle(.thumbnail(requests[0], Self.bitmap))

    #expect(state.handle(.key(.tab)).thumbnails == [])
    _ = state.handle(.thumbnail(requests[1], Self.bitmap))

    #expect(state.handle(.key(.tab)).thumbnails?.count == 2)
    #expect(state.thumbnails.count == 1)
  }

  @Test func oneThatIsThereOrMissingIsNotAskedForAgain() throws {
    var state = state()
    let requests = try #require(state.handle(.key(.tab)).thumbnails)
    for (number, request) in requests.enumerated() {
      _ = state.handle(.thumbnail(request, number == 0 ? nil : Self.bitmap))
    }

    #expect(requests.map { state.outcome(of: $0.slide) } == ["no picture", "not shown yet", "not shown yet"])
    #expect(state.handle(.key(.down)).thumbnails == nil)
    #expect(state.handle(.key(.tab)).thumbnails == nil)
    #expect(state.handle(.key(.tab)).thumbnails == nil)
  }

  @Test func aReloadAsksForThemAnewAndShowsTheOldOnesUntilThen() throws {
    var state = state()
    for request in try #require(state.handle(.key(.tab)).thumbnails) {
      _ = state.handle(.thumbnail(request, Self.bitmap))
    }

    let effects = state.answer(
      state.handle(.key(.character("r"))), Slideshow(title: "Holiday", slides: Fixture.slides))

    #expect(effects.thumbnails?.count == 3)
    #expect(state.thumbnails.count == 3)
  }

  @Test func aLongListFetchesThoseNearby() throws {
    let slides = (0..<1000).map { Slide(id: SlideID("\($0)"), imageFileName: "\($0).jpg") }
    var state = state(slides: slides)
    _ = state.handle(.command(.select(SlideID("500"))))

    let requests = try #require(state.handle(.key(.tab)).thumbnails)

    #expect(requests.count == 121)
    #expect(Set(requests.map(\.slide.id)) == Set(slides[440...560].map(\.id)))
  }

  @Test func whereThereIsNoRoomNoneAreFetched() {
    var state = Fixture.state()

    #expect(state.handle(.key(.tab)).thumbnails == nil)
    #expect(Frame(of: state, on: Fixture.screen).lines[1].contains("♡ Sunset 1"))
  }

  @Test func aSlideHasThreeLinesWithItsPictureInTheTerminal() throws {
    var state = state(slides: [Slide(id: SlideID("1"), title: "A", description: "B")] + Fixture.slides.dropFirst())
    let request = try #require(state.handle(.key(.tab)).thumbnails?.first)
    let color = Bitmap(
      size: PixelSize(width: 5, height: 5), pixels: [UInt8](repeating: 200, count: 100))

    _ = state.handle(.thumbnail(request, color))

    let lines = Frame(of: state, on: Self.screen).lines.map(Fixture.plain)
    #expect(lines[1].hasPrefix("›   ▀▀▀▀▀   ♡ A"))
    #expect(lines[2].hasPrefix("    ▀▀▀▀▀     B"))
    #expect(lines[3].hasPrefix("    ▀▀▀▀▀     not shown yet"))
    #expect(lines[4].hasPrefix("            ♡ Sunset 2"))
    for line in lines { #expect(DisplayText.width(line) <= 80) }
  }

  @Test func aListThatIsTooLongSaysHowManyMoreThereAre() {
    var state = state(slides: (1...20).map { Slide(id: SlideID("\($0)")) })
    _ = state.handle(.key(.tab))

    #expect(Frame(of: state, on: Self.screen).lines.map(Fixture.plain).contains("  … 14 more"))
  }

  @Test func theyComeFromTheFilesOfThePicturesAndAreNotCounted() async throws {
    let files = StaticFolder(DemoService.photos)
    let server = try LoopbackServer { request in files.reply(to: request) }
    let client = try Fixture.client(server)
    let slide = Slide(id: SlideID("1"), imageFileName: "coffee.jpg")
    _ = try await client.picture(Fixture.request(slide))

    let small = await client.thumbnail(Fixture.request(slide, box: PixelSize(width: 9, height: 5)))

    #expect(small?.size == PixelSize(width: 8, height: 5))
    #expect(server.requests.filter { $0.method == .get && $0.fields[.ifNoneMatch] == nil }.count == 1)
    #expect(client.pictureInMemory(Fixture.request(slide, box: PixelSize(width: 9, height: 5))) == nil)
    #expect(await client.thumbnail(Fixture.request(Slide(id: SlideID("2"), imageFileName: "none.jpg"))) == nil)
  }

  @Test @MainActor func thePresenterFetchesWhatTheListShows() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let start = SlideshowState(service: "test", viewport: Self.screen.viewport)
    var presenter: Presenter?
    var last: SlideshowState?
    let running = Presenter(client: client, store: StateStore(file: Fixture.stateFile(), name: "test"), state: start) {
      last = $0
      if !$0.slides.isEmpty, $0.tab == .present { presenter?.tell(.command(.show(.manage))) }
      if $0.thumbnails.count == 7 { presenter?.tell(.command(.quit)) }
    }
    presenter = running

    await running.run()

    #expect(last?.thumbnails.values.filter { $0.bitmap != nil }.count == 6)
    #expect(last?.counts.missing == 0)
  }
}
