import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ClientTests {
  private static let slide = Slide(id: SlideID("1"), imageFileName: "a.jpg")

  @Test(arguments: [200, 201, 203, 206])
  func everySuccessfulStatusIsAccepted(code: Int) async throws {
    let server = try LoopbackServer { _ in .json(Fixture.tutorial, status: HTTPStatus(code)) }

    let slideshow = try await Fixture.client(server).slideshow()

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

    let error = await #expect(throws: SlideshowError.self) { try await client.slideshow() }
    guard case .serviceDown(client.configuration.service, _) = error else {
      Issue.record("expected serviceDown, got \(error as Any)")
      return
    }
    let pictureError = await #expect(throws: PictureError.self) { try await client.picture(for: Self.slide) }
    guard case .serviceDown = pictureError else {
      Issue.record("expected serviceDown, got \(pictureError as Any)")
      return
    }
  }

  @Test func anAnswerThatBreaksOffIsAnError() async throws {
    let server = try LoopbackServer { _ in .json(Fixture.tutorial).truncated(after: 10) }
    let client = try Fixture.client(server)

    await #expect(throws: SlideshowError.self) { try await client.slideshow() }
  }

  @Test func aPictureIsFetchedOnceAndThenComesFromMemory() async throws {
    let photo = try Fixture.photo()
    let server = try LoopbackServer { _ in .data(photo, type: "image/jpeg") }
    let client = try Fixture.client(server)

    let first = try await client.picture(for: Self.slide)
    let second = try await client.picture(for: Self.slide)

    #expect(first.source == .session(.network))
    #expect(second.source == .memory)
    #expect(second.picture.data == photo)
    #expect(server.requests.map(\.target) == ["/a.jpg"])
  }

  @Test func aNameWithoutExtensionFindsTheFileWithAndTheOneWithout() async throws {
    let photo = try Fixture.photo()
    let server = try LoopbackServer { request in
      ["/sunset-10.jpeg", "/bare"].contains(request.path) ? .data(photo) : .status(.notFound)
    }
    let client = try Fixture.client(server)

    for name in ["sunset-10", "sunset-10.jpeg", "bare"] {
      _ = try await client.picture(for: Slide(id: SlideID(name), imageFileName: name))
    }

    #expect(server.requests.map(\.path) == ["/sunset-10.jpeg", "/bare.jpeg", "/bare"])
  }

  @Test(arguments: ["<!DOCTYPE html><title>Log in</title>", "", "{}", "plain text"])
  func anAnswerThatIsNoPictureIsRefusedAndNotFetchedAgain(text: String) async throws {
    let server = try LoopbackServer { _ in .data(Data(text.utf8), type: "image/jpeg") }
    let client = try Fixture.client(server)

    for _ in 0..<3 {
      let error = await #expect(throws: PictureError.self) { try await client.picture(for: Self.slide) }
      guard case .notAnImage = error else {
        Issue.record("expected notAnImage, got \(error as Any)")
        return
      }
    }

    #expect(server.requests.count == 1)
  }

  @Test func progressTellsBytesAndTheWhole() async throws {
    let photo = try Fixture.photo("hubble-deep-field.jpg")
    let server = try LoopbackServer { _ in .data(photo) }
    let seen = Journal<TransferProgress>()

    _ = try await Fixture.client(server).picture(for: Self.slide) { progress in seen.append(progress) }

    let last = try #require(seen.entries.last)
    #expect(last.completed == Int64(photo.count))
    #expect(last.total == Int64(photo.count))
    #expect(seen.entries.count <= 101)
  }

  @Test func theDemoMissesOnePictureAndShowsTheOthers() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let slideshow = try await client.slideshow()
    var missing: [PictureError] = []

    for slide in slideshow.slides {
      do { _ = try await client.picture(for: slide) } catch { missing.append(error) }
    }

    #expect(slideshow.slides.count == 7)
    #expect(missing == [.unexpectedStatusCode(404, demo.imageBase.appending(path: "sunset-13.jpeg"))])
  }

  /// A wait after each picture slows every one of them, a busy computer does not: the fastest tells them apart.
  @Test func picturesComeWithoutArtificialDelay() async throws {
    let pixel = try #require(
      Data(
        base64Encoded:
          "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGPg5OQEAAA6ABztCJuOAAAAAElFTkSuQmCC"))
    let server = try LoopbackServer { _ in .data(pixel, type: "image/png") }
    let client = try Fixture.client(server)

    var times: [Duration] = []
    for number in 0..<20 {
      let slide = Slide(id: SlideID("\(number)"), imageFileName: "\(number).png")
      times.append(try await ContinuousClock().measure { _ = try await client.picture(for: slide) })
    }

    #expect(server.requests.count == 20)
    #expect(try #require(times.min()) < .milliseconds(400))
  }

  @Test func theWayOfARedirectStaysOnThisComputerToo() async throws {
    let server = try LoopbackServer { _ in .redirect(to: "http://plain.invalid/s.json") }
    let client = try Fixture.client(server)

    let error = await #expect(throws: SlideshowError.self) { try await client.slideshow() }

    // Followed or not, the other host was never looked for.
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
