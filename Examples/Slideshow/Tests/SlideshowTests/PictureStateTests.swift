import MartletImages
import SlideshowModel
import Testing

@Suite("On its way, there, or missing", .timeLimit(.minutes(5)))
struct PictureStateTests {
  @Test func anOlderPictureNeverReplacesANewerOne() throws {
    var state = Fixture.state(slides: many)
    let older = try #require(state.handle(.key(.right)).pictureRequest)
    for _ in 0..<3 { _ = state.handle(.key(.right)) }
    let newer = try #require(state.handle(.key(.right)).pictureRequest)

    state.show(newer)
    state.show(older)

    #expect(newer.slide == many[5])
    #expect(state.shownID == many[5].id)
  }

  @Test func anOlderPictureIsNotEvenShownWhileTheNewerOneIsOnItsWay() throws {
    var state = Fixture.state()
    let older = try #require(state.handle(.key(.right)).pictureRequest)
    _ = state.handle(.key(.right))

    state.show(older)

    #expect(state.picture == .loading(completed: 0, total: nil))
  }

  @Test func anAnswerFromBeforeAReloadDoesNotCount() throws {
    var state = Fixture.state()
    let before = try #require(state.handle(.key(.right)).pictureRequest)
    let after = try #require(
      state.answer(state.handle(.key(.character("r"))), Slideshow(slides: Fixture.slides)).pictureRequest)

    state.show(before)
    #expect(state.shownID == nil)
    state.show(after)
    #expect(state.shownID == after.slide.id)
  }

  @Test func oneThatIsThereHasItsNeighboursFetchedAhead() throws {
    var state = Fixture.state(slides: many)
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    #expect(state.show(request).prefetched == [many[2], many[3], many[0]])
  }

  @Test func theWindowGoesAroundBothEnds() throws {
    var state = Fixture.state(slides: many)
    let request = try #require(state.handle(.key(.left)).pictureRequest)

    #expect(state.show(request).prefetched == [many[0], many[1], many[7]])
  }

  @Test(arguments: [(1, []), (2, [1]), (3, [1, 2]), (4, [1, 2, 3])])
  func aSmallSlideshowHasFewNeighbours(count: Int, neighbours: [Int]) throws {
    let slides = Array(many.prefix(count))
    var state = Fixture.state(slides: slides)
    let request = try #require(
      state.answer(state.handle(.key(.character("r"))), Slideshow(slides: slides)).pictureRequest)

    #expect(state.show(request).prefetched == neighbours.map { many[$0] })
  }

  @Test func oneThatIsMissingHasItsNeighboursFetchedAheadToo() throws {
    var state = Fixture.state(slides: many)
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    let effects = state.handle(.picture(request, .failure(.noFileName)))

    guard case .missing(let explanation) = state.picture else {
      Issue.record("expected a placeholder, got \(state.picture)")
      return
    }
    #expect(explanation.details.contains("the service names no file"))
    #expect(effects.prefetched == [many[2], many[3], many[0]])
  }

  @Test func whatIsOnItsWayHasNothingFetchedAhead() {
    var state = Fixture.state(slides: many)

    #expect(state.handle(.key(.right)).prefetched == nil)
  }

  @Test func progressIsThatOfTheCurrentPicture() throws {
    var state = Fixture.state()
    let older = try #require(state.handle(.key(.right)).pictureRequest)
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    _ = state.handle(.progress(older, completed: 7, total: 8))
    #expect(state.picture == .loading(completed: 0, total: nil))
    _ = state.handle(.progress(request, completed: 1, total: 4))
    #expect(state.picture == .loading(completed: 1, total: 4))
  }

  @Test func aNewSizeAsksForAPictureOfThatSizeAndKeepsTheOldOneMeanwhile() throws {
    var state = Fixture.state()
    let request = try #require(state.handle(.key(.right)).pictureRequest)
    state.show(request)
    var room = Fixture.viewport
    room.fit.width = 10

    let effects = state.handle(.resized(room))

    #expect(effects.pictureRequest?.box == room.fit)
    #expect(state.shownID == request.slide.id)
    #expect(state.handle(.resized(room)).isEmpty)
  }

  private let many = (1...9).map { Slide(id: SlideID("\($0)"), imageFileName: "sunset-\($0).jpeg") }
}
