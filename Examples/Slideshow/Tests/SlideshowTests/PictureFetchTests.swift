import Martlet
import MartletTesting
import SlideshowModel
import SlideshowService
import Testing

@Suite("Row 47: pictures on demand", .timeLimit(.minutes(5)))
struct PictureFetchTests {
  private static let slide = Slide(id: SlideID("1"), imageFileName: "a.jpg")

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
    let slideshow = try await client.slideshow().slideshow
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

  @Test func aPictureThatChangedIsFetchedAgainAfterAReload() async throws {
    let photos = [try Fixture.photo("coffee.jpg"), try Fixture.photo("rocket.jpg")]
    let changed = Journal<Bool>()
    let server = try LoopbackServer { _ in
      var reply = Reply.data(photos[changed.entries.count], type: "image/jpeg")
      reply.fields[.cacheControl] = "max-age=3600"
      return reply
    }
    let client = try Fixture.client(server)
    _ = try await client.picture(for: Self.slide)
    changed.append(true)

    client.forgetPictures()
    let again = try await client.picture(for: Self.slide, asksAgain: true)

    #expect(again.picture.data == photos[1])
  }
}
