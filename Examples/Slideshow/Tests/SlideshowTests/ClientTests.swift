import Martlet
import MartletImages
import MartletTesting
import SlideshowModel
import SlideshowService
import Testing

@Suite("What goes wrong is told by its name", .timeLimit(.minutes(5)))
struct ClientTests {
  private static let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "a.jpg"))

  @Test(arguments: [200, 201, 203, 206])
  func everySuccessfulStatusIsAccepted(code: Int) async throws {
    let server = try LoopbackServer { _ in .json(Fixture.tutorial, status: HTTPStatus(code)) }

    let slideshow = try await Fixture.client(server).slideshow().slideshow

    #expect(slideshow.title == "Holiday Slideshow")
    #expect(slideshow.slides.count == 2)
  }

  @Test(arguments: [404, 401, 500, 503])
  func anotherStatusIsToldWithURLAndNumber(code: Int) async throws {
    let server = try LoopbackServer { _ in .status(HTTPStatus(code)) }
    let client = try Fixture.client(server)

    let error = await #expect(throws: SlideshowError.self) { try await client.slideshow() }

    #expect(error == .unexpectedStatusCode(code, client.configuration.service))
    #expect("\(error as Any)".contains("\(code)"))
  }

  @Test(arguments: [
    (#"{"title": "T"}"#, "slides"), (#"{"slides": [{"id": 1}, {"id": 2, "file": 3}]}"#, "slides[1].file"),
    (#"{"slides": [{"title": "T"}]}"#, "slides[0].id"),
    (#"{"slides": [{"id": 1, "isFavorite": "yes"}]}"#, "slides[0].isFavorite"),
    ("<!DOCTYPE html>", "HTML"), ("", "empty"), ("{", "the whole document"), ("[]", "the whole document"),
  ])
  func dataThatIsNoSlideshowNamesTheField(json: String, hint: String) async throws {
    let server = try LoopbackServer { _ in .json(json) }
    let client = try Fixture.client(server)

    let error = await #expect(throws: SlideshowError.self) { try await client.slideshow() }

    guard case .slideshowDataDecodingError = error else {
      Issue.record("expected slideshowDataDecodingError, got \(error as Any)")
      return
    }
    #expect("\(error as Any)".contains(hint))
  }

  @Test func aServerThatIsDownIsNotTakenForWrongData() async throws {
    let server = try LoopbackServer { _ in .text("") }
    let client = try Fixture.client(server)
    server.stop()
    defer { withExtendedLifetime(server) {} }  // its port stays its own

    let error = await #expect(throws: SlideshowError.self) { try await client.slideshow() }
    guard case .serviceDown(client.configuration.service, _) = error else {
      Issue.record("expected serviceDown, got \(error as Any)")
      return
    }
    let pictureError = await #expect(throws: PictureError.self) { try await client.picture(Self.request) }
    guard case .notLoaded(let failure) = pictureError else {
      Issue.record("expected notLoaded, got \(pictureError as Any)")
      return
    }
    #expect(failure.kind == .network)
  }

  @Test func anAnswerThatBreaksOffIsAnError() async throws {
    let server = try LoopbackServer { _ in .json(Fixture.tutorial).truncated(after: 10) }
    let client = try Fixture.client(server)

    await #expect(throws: SlideshowError.self) { try await client.slideshow() }
  }

  @Test func theWayOfARedirectStaysOnThisComputerToo() async throws {
    let server = try LoopbackServer { _ in .redirect(to: "http://plain.invalid/s.json") }
    let client = try Fixture.client(server)

    let error = await #expect(throws: SlideshowError.self) { try await client.slideshow() }

    // Whether it was followed or not, the other host was never looked up.
    if case .serviceDown = error { Issue.record("the redirect left this computer: \(error as Any)") }
  }

  @Test func theSessionItselfKeepsPlainHTTPOnThisComputer() async throws {
    let url = try Fixture.url("http://plain.invalid/s.json")

    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSession.slideshow().data(for: HTTPRequest(.get, url))
    }

    #expect(error?.message.contains("--allow-insecure") == true)
  }
}
