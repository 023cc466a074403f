import Martlet
import MartletEngine
import MartletImages
import MartletTesting
import SlideshowModel
import SlideshowTerminal
import Testing

@Suite("Sentences for people, details on request", .timeLimit(.minutes(5)))
struct WordingTests {
  /// Technical terms that people need not read.
  private static func isTechnical(_ text: String) -> Bool {
    text.contains(/\d{3}|https?:|status|JSON|slides\[|errno|refused/)
  }

  private static let url = URL(filePath: "/s.json")

  @Test(arguments: [
    (SlideshowError.unexpectedStatusCode(404, url), "no slideshow at this address", "404"),
    (.unexpectedStatusCode(401, url), "does not allow", "401"), (.unexpectedStatusCode(503, url), "fault", "503"),
    (.unexpectedStatusCode(302, url), "unexpected answer", "302"),
    (.slideshowDataDecodingError(url, field: "slides[1].file", reason: "no text"), "not a slideshow", "slides[1].file"),
    (.serviceDown(url, reason: "connection refused"), "check if the web service is running", "connection refused"),
    (.transferFailed(url, reason: "certificate has expired"), "could not be fetched", "certificate has expired"),
  ])
  func anErrorOfTheServiceIsASentenceAndItsDetails(error: SlideshowError, sentence: String, details: String) {
    let explanation = error.explanation

    #expect(explanation.sentence.contains(sentence))
    #expect(!Self.isTechnical(explanation.sentence))
    #expect(explanation.details.contains(details))
  }

  @Test(arguments: [
    (404, "does not have this picture"), (410, "does not have this picture"), (403, "does not allow"),
    (500, "cannot deliver"),
  ])
  func aPictureThatIsRefusedIsASentenceAndItsDetails(code: Int, sentence: String) async throws {
    let explanation = try await explanation(of: .status(HTTPStatus(code)))

    #expect(explanation.sentence.contains(sentence))
    #expect(!Self.isTechnical(explanation.sentence))
    #expect(explanation.details.contains("\(code)"))
    #expect(explanation.details.contains("/a.jpg"))
  }

  @Test func whatIsNoPictureIsCalledThat() async throws {
    let explanation = try await explanation(of: .text("<html>log in</html>"))

    #expect(explanation.sentence == "What the web service sent is not a picture.")
  }

  @Test func aPictureThatBreaksOffIsSaidToHaveBrokenOff() async throws {
    let photo = try Fixture.photo()
    let replies = [
      Reply.data(photo, type: "image/jpeg").truncated(after: 9000), .data(photo.prefix(9000), type: "image/jpeg"),
    ]

    for reply in replies {
      let explanation = try await explanation(of: reply)

      #expect(explanation.sentence == "The picture broke off before its end.")
      #expect(explanation.details.contains("/a.jpg"))
    }
  }

  @Test func aPictureThatTimesOutIsSaidToBeLateAndCountsAmongTheMissing() async throws {
    let server = try LoopbackServer { _ in .never }
    var settings = SessionConfiguration()
    settings.options.responseTimeout = .milliseconds(50)
    settings.options.retryPolicy = .never
    let client = try Fixture.client(server, session: HTTPSession(configuration: settings))
    var state = Fixture.state()
    let request = try #require(state.wanted)

    let error = await #expect(throws: PictureError.self) { try await client.picture(request) }
    _ = state.handle(.picture(request, .failure(try #require(error))))

    #expect(error?.explanation.sentence == "The picture did not arrive in time.")
    #expect(state.counts.missing == 1)
  }

  @Test func aServiceThatIsAwayIsCalledThatForAPictureToo() async throws {
    let server = try LoopbackServer { _ in .text("") }
    let client = try Fixture.client(server)
    server.stop()
    defer { withExtendedLifetime(server) {} }  // its port stays its own

    let error = await #expect(throws: PictureError.self) { try await client.picture(Self.request) }

    #expect(error?.explanation.sentence.contains("does not answer") == true)
  }

  private static let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "a.jpg"))

  private func explanation(of reply: Reply) async throws -> Explanation {
    let server = try LoopbackServer { _ in reply }
    let client = try Fixture.client(server)
    let error = await #expect(throws: PictureError.self) { try await client.picture(Self.request) }
    return try #require(error).explanation
  }

  @Test func dShowsTheDetailsAndHidesThem() throws {
    var state = Fixture.state(slides: [Slide(id: SlideID("7"), title: "A", imageFileName: "../x")])
    let request = try #require(state.wanted)
    _ = state.handle(.picture(request, .failure(.refusedFileName("../x", reason: "it leads elsewhere"))))
    let screen = ScreenSize(columns: 80, rows: 24)
    #expect(!Frame(of: state, on: screen).lines.joined().contains("it leads elsewhere"))

    _ = state.handle(.key(.character("d")))

    let text = Frame(of: state, on: screen).lines.map(Fixture.plain).joined(separator: "\n")
    #expect(text.contains("it leads elsewhere"))
    #expect(text.contains("slide: 7, A"))
    #expect(text.contains("service: http://localhost:8000/s.json"))
    _ = state.handle(.key(.character("d")))
    #expect(state.panel == nil)
  }

  @Test func detailsStayWhilePagesAreTurned() {
    var state = Fixture.state()
    _ = state.handle(.key(.character("d")))

    _ = state.handle(.key(.right))

    #expect(state.panel == .details)
    #expect(state.details.contains("slide: 2, Sunset 2"))
  }

  @Test func theDetailsOfANoticeCanBeReadBeforeItGoes() {
    var state = Fixture.state()
    _ = state.handle(.warning(Explanation("The cache is damaged.", details: "/tmp/cache.sqlite: code 26")))

    _ = state.handle(.key(.character("d")))

    #expect(state.notice?.sentence == "The cache is damaged.")
    #expect(state.details.first?.contains("code 26") == true)
    _ = state.handle(.key(.escape))
    #expect(state.panel == nil)
    #expect(state.notice != nil)
    _ = state.handle(.key(.escape))
    #expect(state.notice == nil)
  }

  @Test func detailsWithoutSlidesSayWhatWentWrong() throws {
    var state = SlideshowState(service: "s", viewport: Fixture.viewport)
    state.fail(state.handle(.started), .serviceDown(try Fixture.url("http://localhost/s"), reason: "refused"))

    #expect(state.hint?.joined().contains("refused") == false)
    #expect(state.details.contains { $0.contains("refused") })
  }

  // MARK: - Counts

  @Test func aPictureCountsOnceHoweverOftenItIsShown() throws {
    var state = Fixture.state()
    state.showWanted(from: .session(.network))
    for key in [Key.right, .left, .character("f"), .character("f")] {
      _ = state.handle(.key(key))
      // The file of a picture that is shown in another size comes from the cache.
      state.showWanted(from: .session(.cache))
    }

    #expect(state.counts.shown == 2)
    #expect(state.counts.network == 1)
    #expect(state.counts.cache == 1)
    #expect(state.counts.description == "2 of 3 pictures shown · 1 from the network · 1 from the cache")
  }

  @Test func aPictureThatIsMissingCountsOnceHoweverOftenItIsTried() throws {
    var state = Fixture.state()
    for _ in 0..<5 {
      let request = try #require(state.wanted)
      _ = state.handle(.picture(request, .failure(.noFileName)))
      _ = state.handle(.key(.character("f")))
    }

    #expect(state.counts.missing == 1)
  }

  @Test func aPictureThatComesAfterAllIsMissingNoMore() throws {
    var state = Fixture.state()
    _ = state.handle(.picture(try #require(state.wanted), .failure(.noFileName)))

    state.answer(state.handle(.key(.character("r"))), Slideshow(title: "Holiday", slides: Fixture.slides))
    state.showWanted(from: .session(.network))

    #expect(state.counts.missing == 0)
    #expect(state.counts.network == 1)
  }

  @Test func afterAReloadItCountsWhereAPictureComesFromThen() {
    var state = Fixture.state()
    state.showWanted(from: .session(.network))

    state.answer(state.handle(.key(.character("r"))), Slideshow(title: "Holiday", slides: Fixture.slides))
    state.showWanted(from: .session(.revalidated))

    #expect(state.counts.network == 0)
    #expect(state.counts.cache == 1)
  }

  // MARK: - Lines

  @Test(arguments: [80, 60, 40, 30])
  func noStatusIsCutInTheMiddle(columns: Int) throws {
    let slides = (1...1234).map { Slide(id: SlideID("\($0)"), imageFileName: "\($0).jpg") }
    var state = Fixture.state(slides: slides)
    for _ in 0..<20 {
      state.showWanted(from: .session(.network), bytes: 12_345_678)
      _ = state.handle(.key(.left))
    }
    _ = state.handle(.key(.character("a")))
    state.showWanted(from: .session(.cache), bytes: 12_345_678)

    let lines = Frame(of: state, on: ScreenSize(columns: columns, rows: 24)).lines.map(Fixture.plain)

    for line in lines[21...22] {
      #expect(DisplayText.width(line) <= columns)
      #expect(!line.contains("…"))
      #expect(!line.hasSuffix("· "))
    }
    #expect(lines[21].hasPrefix(" 1215 of 1234"))
  }

  @Test func aLongRemarkHasTwoLinesAndIsNotCutAtEightyColumns() throws {
    var state = Fixture.state(poll: .seconds(3))
    state.showWanted()
    _ = state.handle(.key(.character("a")))
    state.answer(
      state.handle(.waited(.poll(1))), Slideshow(title: "Holiday", slides: Fixture.slides), from: .offline)

    let lines = Frame(of: state, on: ScreenSize(columns: 80, rows: 24)).lines.map(Fixture.plain)

    let remark = lines[21...22].joined()
    #expect(remark.contains("does not answer"))
    #expect(remark.contains("Auto-play waits"))
    #expect(remark.contains("d:\u{A0}details"))
    #expect(!remark.contains("…"))
  }

  @Test func aShortRemarkLeavesALineForTheStatus() {
    var state = Fixture.state(poll: .seconds(3))
    state.answer(
      state.handle(.waited(.poll(1))), Slideshow(title: "Holiday", slides: Fixture.slides), from: .offline)

    let lines = Frame(of: state, on: ScreenSize(columns: 80, rows: 24)).lines.map(Fixture.plain)

    #expect(lines[21].contains("does not answer"))
    #expect(lines[22].hasPrefix(" 1 of 3"))
  }

  @Test func progressIsForPeople() {
    #expect(SlideshowState.progress(0, nil) == "…")
    #expect(SlideshowState.progress(1500, nil) == "1.5 kB")
    #expect(SlideshowState.progress(50_000, 200_000) == "25 % of 200.0 kB")
  }
}
