import MartletEngine
import MartletImages
import SlideshowModel
import Testing

@Suite("Row 48: on its way, there, or missing", .timeLimit(.minutes(5)))
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

  @Test func theNeighboursAreMadeReadyTheNextOneFirst() throws {
    var state = Fixture.state(slides: many)
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    let effects = state.show(request)

    #expect(effects.prepared?.map(\.slide) == [many[2], many[0]])
  }

  @Test func whatIsReadyIsShownAtOnceAndTheWindowMovesOn() throws {
    var state = Fixture.state(slides: many)
    let first = try #require(state.answer(state.handle(.key(.character("r"))), Slideshow(slides: many)).pictureRequest)
    let prepared = try #require(state.show(first).prepared)
    for request in prepared { state.show(request) }

    let effects = state.handle(.key(.right))

    #expect(effects.pictureRequest == nil)
    #expect(state.shownID == many[1].id)
    // The one before is there already.
    #expect(effects.prepared?.map(\.slide) == [many[2]])
    guard case .shown(let shown) = state.picture else { return }
    #expect(shown.source == .memory)
  }

  @Test func onlyTheWindowIsKept() throws {
    var state = Fixture.state(slides: many)
    for _ in 0..<4 {
      let request = try #require(state.handle(.key(.right)).pictureRequest)
      state.show(request)
    }

    // Two steps back is out of the window, and has to be asked for again.
    _ = state.handle(.key(.left))
    #expect(state.shownID == many[3].id)
    #expect(state.handle(.key(.left)).pictureRequest?.slide == many[2])
  }

  @Test(arguments: [(1, 0), (2, 1), (3, 2)])
  func aSmallSlideshowHasFewNeighbours(count: Int, neighbours: Int) throws {
    var state = Fixture.state(slides: Array(many.prefix(count)))
    let request = try #require(
      state.answer(state.handle(.key(.character("r"))), Slideshow(slides: Array(many.prefix(count)))).pictureRequest)

    #expect(state.show(request).prepared?.count == neighbours)
  }

  @Test func aMissingNeighbourIsKnownToBeMissing() throws {
    var state = Fixture.state(slides: many)
    let request = try #require(state.handle(.key(.right)).pictureRequest)
    let next = try #require(state.show(request).prepared?.first)
    let url = try Fixture.url("http://localhost/x.jpeg")

    _ = state.handle(.picture(next, .failure(.unexpectedStatusCode(404, url))))
    #expect(state.shownID == request.slide.id)

    #expect(state.handle(.key(.right)).pictureRequest == nil)
    guard case .missing(let reason) = state.picture else {
      Issue.record("expected a placeholder, got \(state.picture)")
      return
    }
    #expect(reason.contains("404"))
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

  @Test func statisticsSayWhereThePicturesCameFrom() throws {
    var state = Fixture.state(slides: many)
    for source in [ResponseSource.network, .cache, .offline] {
      let request = try #require(state.handle(.key(.right)).pictureRequest)
      _ = state.handle(.picture(request, .success(Fixture.shown(request, from: source))))
    }
    _ = state.handle(.key(.left))
    let missing = try #require(state.handle(.key(.left)).pictureRequest)
    _ = state.handle(.picture(missing, .failure(.noFileName)))

    #expect(state.statistics.description == "network 1 · cache 2 · memory 1 · missing 1 · 12.0 kB · 15 ms")
  }

  @Test func thePictureThatComesTwiceCountsOnce() throws {
    var state = Fixture.state()
    let request = try #require(state.handle(.key(.right)).pictureRequest)

    state.show(request)
    state.show(request)

    #expect(state.statistics.network == 1)
  }

  private let many = (1...9).map { Slide(id: SlideID("\($0)"), imageFileName: "sunset-\($0).jpeg") }
}
