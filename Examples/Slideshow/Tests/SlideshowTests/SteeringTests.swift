import MartletImages
import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("Tabs, title, favourites, next, full screen", .timeLimit(.minutes(5)))
struct SteeringTests {
  @Test(arguments: [
    (Key.right, 1), (.character(" "), 1), (.character("n"), 1), (.down, 1), (.pageDown, 1), (.left, -1),
    (.character("p"), -1), (.up, -1), (.pageUp, -1),
  ])
  func nextAndPreviousGoAroundBothEnds(key: Key, step: Int) {
    var state = Fixture.state()
    var seen: [Int] = []

    for _ in 0..<4 {
      _ = state.handle(.key(key))
      seen.append(state.index)
    }

    #expect(seen == (step > 0 ? [1, 2, 0, 1] : [2, 1, 0, 2]))
    #expect(state.turn == (step > 0 ? .forward : .backward))
  }

  @Test func nextGoesOnAfterTheMarkWasChanged() {
    var state = Fixture.state()

    _ = state.handle(.key(.character("h")))
    _ = state.handle(.key(.right))

    #expect(state.index == 1)
  }

  @Test func aFavouriteIsKeptAsTheUserSays() throws {
    var state = Fixture.state(slides: [Slide(id: SlideID("1"), isFavorite: true)])

    let effects = state.handle(.key(.character("h")))
    guard case .save(let kept) = effects.first else {
      Issue.record("expected to save")
      return
    }
    #expect(kept.favorites == ["1": false])

    _ = state.handle(.key(.character("h")))
    #expect(state.kept.favorites.isEmpty)
  }

  @Test func anySlideOfTheListCanBeAFavourite() {
    var state = Fixture.state()

    _ = state.handle(.command(.toggleFavorite(SlideID("3"))))

    #expect(state.slides.map(state.isFavorite) == [false, false, true])
    #expect(state.handle(.command(.toggleFavorite(SlideID("none")))).isEmpty)
  }

  @Test func theTitleIsEditedKeptAndGivenBack() {
    var state = Fixture.state()
    #expect(state.title == "Holiday")

    for key in [Key.character("t"), .backspace, .character("ö"), .enter] { _ = state.handle(.key(key)) }
    #expect(state.title == "Holidaö")
    #expect(state.kept.title == "Holidaö")
    #expect(state.tab == .manage)

    for key in [Key.character("t"), .character("q"), .escape] { _ = state.handle(.key(key)) }
    #expect(state.title == "Holidaö")

    _ = state.handle(.key(.character("t")))
    for _ in 0..<9 { _ = state.handle(.key(.backspace)) }
    #expect(state.handle(.key(.enter)) == [.save(KeptState())])
    #expect(state.title == "Holiday")
  }

  @Test(
    arguments: [
      ([.home, .character("X")], "X▏Holiday"), ([.home, .end, .character("X")], "HolidayX▏"),
      ([.left, .left, .backspace], "Holi▏ay"), ([.left, .left, .delete], "Holid▏y"), ([.delete, .right], "Holiday▏"),
      ([.left, .eraseLine], "▏y"), ([.eraseLine, .backspace, .left, .character("ö")], "ö▏"),
      ([.home, .left, .backspace, .right], "H▏oliday"), ([.up, .tab, .pageUp], "Holiday▏"),
    ] as [([Key], String)])
  func theTitleIsEditedWhereTheCursorIs(keys: [Key], expected: String) {
    var state = Fixture.state()
    for key in [.character("t")] + keys { _ = state.handle(.key(key)) }

    #expect(state.draft.map { "\($0.before)▏\($0.after)" } == expected)
    #expect(Frame(of: state, on: ScreenSize(columns: 80, rows: 24)).lines[0].contains("title: \(expected)"))
    _ = state.handle(.key(.enter))
    #expect(state.title == expected.replacing("▏", with: ""))
  }

  @Test func homeAndEndShowTheFirstAndTheLastSlide() {
    var state = Fixture.state()
    _ = state.handle(.key(.end))
    #expect(state.index == state.slides.count - 1)
    _ = state.handle(.key(.home))
    #expect(state.index == 0)
    _ = state.handle(.key(.home))
    #expect(state.index == 0)
  }

  @Test func aTitleThatDidNotChangeIsNotWrittenAgain() {
    var state = Fixture.state()

    #expect(state.handle(.command(.keepTitle("Holiday"))).isEmpty)
  }

  @Test(arguments: [Key.enter, .character("f"), .character("z"), .f11])
  func fullScreenFillsTheScreenAndComesBack(key: Key) throws {
    var state = Fixture.state()

    let filling = try #require(state.handle(.key(key)).pictureRequest)
    #expect(state.isFullScreen)
    #expect(filling.mode == .fill)
    #expect(filling.box == PixelSize(width: 40, height: 26))

    let fitting = try #require(state.handle(.key(key)).pictureRequest)
    #expect(!state.isFullScreen)
    #expect(fitting.mode == .fit)
    #expect(fitting.box == PixelSize(width: 40, height: 16))
  }

  @Test func escapeAndTheListLeaveFullScreen() {
    for key in [Key.escape, .tab, .character("1")] {
      var state = Fixture.state()
      _ = state.handle(.key(.character("f")))

      _ = state.handle(.key(key))

      #expect(!state.isFullScreen)
    }
  }

  @Test func tabsChange() {
    var state = Fixture.state()
    #expect(SlideshowState.Tab.allCases.map(\.rawValue) == [1, 2])

    _ = state.handle(.key(.tab))
    #expect(state.tab == .manage)
    _ = state.handle(.key(.character("2")))
    #expect(state.tab == .present)
    _ = state.handle(.key(.character("1")))
    #expect(state.tab == .manage)
    _ = state.handle(.key(.enter))
    #expect(state.tab == .present)
  }

  @Test func aSlideOfTheListIsChosenAndPresented() {
    var state = Fixture.state()
    _ = state.handle(.key(.tab))

    let effects = state.handle(.command(.select(SlideID("3"))))
    #expect(state.index == 2)
    #expect(effects.pictureRequest?.slide.id == SlideID("3"))
    #expect(state.tab == .manage)

    _ = state.handle(.command(.open(SlideID("2"))))
    #expect(state.index == 1)
    #expect(state.tab == .present)
  }

  @Test func theTitleOfTheWindowSaysWhatIsToBeSeen() {
    var state = Fixture.state()
    #expect(state.windowTitle == "Sunset 1 – Holiday")

    _ = state.handle(.key(.tab))
    #expect(state.windowTitle == "Holiday")
  }

  @Test func noticesAreToldOneAfterAnother() {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport, notices: [Explanation("one")])
    _ = state.handle(.warning(Explanation("two")))

    #expect(state.remark?.sentence == "one")
    _ = state.handle(.key(.escape))
    #expect(state.remark?.sentence == "two")
    _ = state.handle(.key(.right))
    #expect(state.remark == nil)
  }

  @Test(arguments: [SlideshowEvent.key(.character("q")), .key(.interrupt), .command(.quit)])
  func quitting(event: SlideshowEvent) {
    var state = Fixture.state()

    #expect(state.handle(event) == [.quit])
  }

  @Test func keysWithoutSlidesDoNothing() {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport)

    for key in [Key.right, .left, .enter, .character("h"), .tab] { #expect(state.handle(.key(key)).isEmpty) }
    for event in [SlideshowEvent.swipe(x: 50, y: 0), .waited(.click(0))] { #expect(state.handle(event).isEmpty) }
  }
}
