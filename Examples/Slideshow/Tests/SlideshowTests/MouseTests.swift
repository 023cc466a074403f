import MartletImages
import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("Going forward and back with the mouse", .timeLimit(.minutes(5)))
struct MouseTests {
  @Test(arguments: [(0.0, 2), (0.33, 2), (0.34, 1), (0.5, 1), (1.0, 1)])
  func aClickInTheLeftThirdGoesBackAndElsewhereOn(place: Double, index: Int) throws {
    var state = Fixture.state()

    let (wait, _) = try #require(state.handle(.click(1, at: place)).wait)
    #expect(state.index == 0)
    _ = state.handle(.waited(wait))

    #expect(state.index == index)
    #expect(!state.isFullScreen)
  }

  @Test(arguments: [0.1, 0.9])
  func aDoubleClickIsFullScreenAndNoStep(place: Double) throws {
    var state = Fixture.state()

    let (wait, _) = try #require(state.handle(.click(1, at: place)).wait)
    _ = state.handle(.click(2, at: place))
    _ = state.handle(.waited(wait))

    #expect(state.isFullScreen)
    #expect(state.index == 0)
  }

  @Test(arguments: [
    (-22.0, 0.0, 1, SlideshowState.Turn.forward), (22, 0, 2, .backward), (21, 0, 0, .forward), (-21, 0, 0, .forward),
    (-40, 30, 1, .forward), (40, 30, 2, .backward), (30, 40, 0, .forward),
  ])
  func aDragToTheLeftGoesOnAndOneToTheRightBack(x: Double, y: Double, index: Int, turn: SlideshowState.Turn) {
    var state = Fixture.state()

    _ = state.handle(.swipe(x: x, y: y))

    #expect(state.index == index)
    #expect(state.turn == turn)
  }

  @Test func aDragThatWasTakenForAClickIsOneStep() throws {
    var state = Fixture.state()

    let (wait, _) = try #require(state.handle(.click(1, at: 0.5)).wait)
    _ = state.handle(.swipe(x: 50, y: 0))
    _ = state.handle(.waited(wait))

    #expect(state.index == 2)
  }

  // MARK: - In the terminal

  /// The state after a gesture on its screen, and after the wait for a second click.
  private func state(
    _ state: SlideshowState, after gestures: [MouseGesture], on screen: ScreenSize = Fixture.screen
  ) -> SlideshowState {
    var state = state
    for gesture in gestures {
      guard let event = Frame(of: state, on: screen).event(for: gesture) else { continue }
      if let (wait, _) = state.handle(event).wait { _ = state.handle(.waited(wait)) }
    }
    return state
  }

  private func click(_ column: Int, _ row: Int, _ count: Int = 1) -> MouseGesture {
    .click(count, Cell(column: column, row: row))
  }

  private func drag(_ from: Int, _ to: Int) -> MouseGesture {
    .drag(from: Cell(column: from, row: 4), to: Cell(column: to, row: 4))
  }

  @Test(arguments: [(0, 2), (12, 2), (14, 1), (39, 1)])
  func aClickOnThePictureInTheTerminalGoesBackOrOn(column: Int, index: Int) {
    for row in [1, 8] { #expect(state(Fixture.state(), after: [click(column, row)]).index == index) }
  }

  @Test func dragsAndTheWheelTurnThePagesInTheTerminal() {
    #expect(state(Fixture.state(), after: [drag(20, 10)]).index == 1)
    #expect(state(Fixture.state(), after: [drag(20, 30)]).index == 2)
    #expect(state(Fixture.state(), after: [.wheelDown]).index == 1)
    #expect(state(Fixture.state(), after: [.wheelUp]).index == 2)
  }

  @Test func aDoubleClickInTheTerminalIsFullScreenAndAnotherOneBack() {
    var full = Fixture.state()
    for count in 1...2 {
      _ = Frame(of: full, on: Fixture.screen).event(for: click(20, 5, count)).map { full.handle($0) }
    }
    #expect(full.isFullScreen)
    #expect(full.index == 0)

    #expect(state(full, after: [click(1, 0)]).index == 2)
    #expect(!state(full, after: [click(20, 5, 2)]).isFullScreen)
  }

  @Test func theTabsTheTitleAndTheHeartCanBeClicked() {
    let list = state(Fixture.state(), after: [click(4, 0)])
    #expect(list.tab == .manage)
    #expect(state(list, after: [click(15, 0)]).tab == .present)
    #expect(state(list, after: [click(30, 0)]).draft?.text == "Holiday")

    // The footnote is the line below the picture; `♡ Sunset 1` is in its middle.
    #expect(state(Fixture.state(), after: [click(15, 9)]).kept.favorites == ["1": true])
  }

  @Test func theListCanBeClicked() {
    let list = state(Fixture.state(), after: [click(4, 0)])

    #expect(state(list, after: [click(10, 2)]).index == 1)
    #expect(state(list, after: [click(10, 2)]).tab == .manage)
    #expect(state(list, after: [click(10, 3, 2)]).index == 2)
    #expect(state(list, after: [click(10, 3, 2)]).tab == .present)
    #expect(state(list, after: [click(2, 3)]).kept.favorites == ["3": true])
    #expect(state(list, after: [click(10, 4), click(10, 9), click(10, 11)]).index == 0)
  }

  @Test func theListWithSmallPicturesCanBeClicked() {
    let screen = ScreenSize(columns: 80, rows: 24)
    var list = Fixture.state(slides: (1...9).map { Slide(id: SlideID("\($0)")) })
    _ = list.handle(.resized(screen.viewport))
    _ = list.handle(.key(.tab))

    #expect(state(list, after: [click(40, 6)], on: screen).index == 1)
    #expect(state(list, after: [click(12, 4)], on: screen).kept.favorites == ["2": true])
    #expect(state(list, after: [click(12, 5)], on: screen).kept.favorites.isEmpty)
  }

  @Test func aClickBesideTheTitleKeepsIt() {
    var editing = Fixture.state()
    for key in [Key.character("t"), .character("!")] { _ = editing.handle(.key(key)) }

    #expect(state(editing, after: [click(20, 5)]).kept.title == "Holiday!")
    #expect(state(editing, after: [.wheelDown]).draft?.text == "Holiday!")
  }

  @Test func aClickClosesHelpAndDetails() {
    for key in ["?", "d"] as [Character] {
      var open = Fixture.state()
      _ = open.handle(.key(.character(key)))

      #expect(state(open, after: [click(20, 5)]).panel == nil)
      #expect(state(open, after: [click(20, 5)]).index == 0)
    }
  }

  @Test func theLineBeneathThePictureSaysThatItCanBeClicked() {
    let lines = Frame(of: Fixture.state(), on: ScreenSize(columns: 80, rows: 24)).lines.map(Fixture.plain)

    #expect(lines[20].hasPrefix(" ‹ back"))
    #expect(lines[20].hasSuffix("next › "))
    #expect(lines[20].contains("♡ Sunset 1"))
    #expect(lines[20].count == 80)
    // With one slide there is no other one to go to.
    let single = Frame(of: Fixture.state(slides: [Fixture.slides[0]]), on: ScreenSize(columns: 80, rows: 24))
    #expect(!single.lines.joined().contains("‹"))
  }

  @Test func theHintGivesWayToALongTitle() {
    let slide = Slide(id: SlideID("1"), title: String(repeating: "long ", count: 40))
    let lines = Frame(of: Fixture.state(slides: [slide] + Fixture.slides), on: Fixture.screen).lines

    #expect(DisplayText.width(Fixture.plain(lines[9])) <= 40)
    #expect(lines[9].contains("‹"))
    #expect(lines[9].contains("…"))
  }
}
