import MartletImages
import SlideshowModel
import SlideshowTerminal
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StateTests {
  private let shown = ShownPicture(
    bitmap: Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255]),
    size: PixelSize(width: 600, height: 400), bytes: 4, source: "network", milliseconds: 5)

  @Test func thePresentTabShowsTheFirstSlideAsSoonAsTheSlidesArrive() throws {
    var state = SlideshowState(screen: Fixture.screen)
    let number = try #require(state.handle(.started).slidesRequest)
    #expect(state.tab == .present)

    let effects = state.handle(.slides(number, .success(Slideshow(slides: Fixture.slides))))

    #expect(effects.pictureRequest?.slide == Fixture.slides[0])
    #expect(state.picture == .loading(completed: 0, total: nil))
  }

  @Test func anOlderPictureNeverReplacesANewerOne() throws {
    var state = Fixture.state()
    let older = try #require(state.handle(.key(.right)).pictureRequest)
    let newer = try #require(state.handle(.key(.right)).pictureRequest)
    var other = shown
    other.bytes = 99

    _ = state.handle(.picture(newer.number, newer.slide.id, .success(shown)))
    _ = state.handle(.picture(older.number, older.slide.id, .success(other)))

    #expect(newer.slide == Fixture.slides[2])
    #expect(state.picture == .shown(shown))
  }

  @Test func olderSlidesNeverReplaceNewerOnes() throws {
    var state = Fixture.state()
    let older = try #require(state.handle(.key(.character("r"))).slidesRequest)
    let newer = try #require(state.handle(.key(.character("r"))).slidesRequest)

    _ = state.handle(.slides(newer, .success(Slideshow(slides: [Fixture.slides[0]]))))
    _ = state.handle(.slides(older, .success(Slideshow(slides: Fixture.slides))))

    #expect(state.slides == [Fixture.slides[0]])
  }

  @Test(arguments: [
    (Key.right, 1), (.character(" "), 1), (.character("n"), 1), (.down, 1), (.left, -1), (.character("p"), -1),
    (.up, -1),
  ])
  func nextAndPreviousGoAroundBothEnds(key: Key, step: Int) {
    var state = Fixture.state()
    var seen: [Int] = []

    for _ in 0..<4 {
      _ = state.handle(.key(key))
      seen.append(state.index)
    }

    #expect(seen == (step > 0 ? [1, 2, 0, 1] : [2, 1, 0, 2]))
  }

  @Test func nextGoesOnAfterTheMarkWasChanged() {
    var state = Fixture.state()

    _ = state.handle(.key(.character("f")))
    _ = state.handle(.key(.right))

    #expect(state.index == 1)
  }

  @Test func reloadReplacesAndKeepsSlideAndFavourites() throws {
    var state = Fixture.state()
    _ = state.handle(.key(.right))
    _ = state.handle(.key(.character("f")))
    let effects = state.handle(.key(.character("r")))
    let number = try #require(effects.slidesRequest)
    let reordered = [Fixture.slides[1], Fixture.slides[0]]

    _ = state.handle(.slides(number, .success(Slideshow(slides: reordered))))

    #expect(effects.contains(.forgetFailures))
    #expect(state.slides == reordered)
    #expect(state.currentSlide?.id == Fixture.slides[1].id)
    #expect(state.isFavorite(Fixture.slides[1]))
    #expect(!state.isFavorite(Fixture.slides[0]))
  }

  @Test func aReloadThatFailsLeavesTheSlides() throws {
    var state = Fixture.state()
    let number = try #require(state.handle(.key(.character("r"))).slidesRequest)

    _ = state.handle(.slides(number, .failure(.unexpectedStatusCode(500, try Fixture.url("http://localhost/s")))))

    #expect(state.slides == Fixture.slides)
    #expect(state.notice?.contains("500") == true)
  }

  @Test func aFavouriteIsKeptAsTheUserSays() throws {
    var state = Fixture.state(slides: [Slide(id: SlideID("1"), isFavorite: true)])

    let effects = state.handle(.key(.character("f")))
    guard case .save(let kept) = effects.first else {
      Issue.record("expected to save")
      return
    }
    #expect(kept.favorites == ["1": false])

    _ = state.handle(.key(.character("f")))
    #expect(state.kept.favorites.isEmpty)
  }

  @Test func theTitleIsEditedKeptAndGivenBack() {
    var state = Fixture.state()
    #expect(state.title == "Holiday")

    for key in [Key.character("t"), .backspace, .character("ö"), .enter] { _ = state.handle(.key(key)) }
    #expect(state.title == "Holidaö")
    #expect(state.kept.title == "Holidaö")

    for key in [Key.character("t"), .character("q"), .escape] { _ = state.handle(.key(key)) }
    #expect(state.title == "Holidaö")

    _ = state.handle(.key(.character("t")))
    for _ in 0..<9 { _ = state.handle(.key(.backspace)) }
    #expect(state.handle(.key(.enter)) == [.save(KeptState())])
    #expect(state.title == "Holiday")
  }

  @Test func fullScreenFillsTheScreenAndComesBack() throws {
    var state = Fixture.state()

    let effects = state.handle(.key(.enter))
    #expect(state.isFullScreen)
    guard case .loadPicture(_, _, .fill, PixelSize(width: 40, height: 24)) = effects.first else {
      Issue.record("expected a picture that fills, got \(effects)")
      return
    }

    guard case .loadPicture(_, _, .fit, PixelSize(width: 40, height: 16)) = state.handle(.key(.character("z"))).first
    else {
      Issue.record("expected a picture that fits")
      return
    }
    #expect(!state.isFullScreen)
  }

  @Test func tabsChange() {
    var state = Fixture.state()

    _ = state.handle(.key(.tab))
    #expect(state.tab == .manage)
    _ = state.handle(.key(.character("2")))
    #expect(state.tab == .present)
    _ = state.handle(.key(.character("1")))
    #expect(state.tab == .manage)
  }

  @Test func aNewSizeAsksForAPictureOfThatSize() {
    var state = Fixture.state()

    let effects = state.handle(.resized(ScreenSize(columns: 10, rows: 9)))

    guard case .loadPicture(_, _, .fit, PixelSize(width: 10, height: 10)) = effects.first else {
      Issue.record("expected a picture for the new size, got \(effects)")
      return
    }
    #expect(state.handle(.resized(ScreenSize(columns: 10, rows: 9))).isEmpty)
  }

  @Test(arguments: [SlideshowEvent.key(.character("q")), .key(.interrupt), .quit])
  func quitting(event: SlideshowEvent) {
    var state = Fixture.state()

    #expect(state.handle(event) == [.quit])
  }

  @Test func keysWithoutSlidesDoNothing() {
    var state = SlideshowState(screen: Fixture.screen)

    for key in [Key.right, .left, .enter, .character("f"), .tab] { #expect(state.handle(.key(key)).isEmpty) }
  }
}
