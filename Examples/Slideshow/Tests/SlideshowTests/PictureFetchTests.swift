import Martlet
import MartletEngine
import MartletImages
import MartletTesting
import SlideshowModel
import SlideshowService
import Testing

@Suite("Pictures on demand", .timeLimit(.minutes(5)))
struct PictureFetchTests {
  private static let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "a.jpg"))

  @Test func aPictureIsFetchedOnceAndThenComesFromMemory() async throws {
    let photo = try Fixture.photo()
    let server = try LoopbackServer { _ in .data(photo, type: "image/jpeg") }
    let client = try Fixture.client(server)

    let first = try await client.picture(Self.request)
    let second = try await client.picture(Self.request)

    #expect(first.source == .session(.network))
    #expect(second.source == .memory)
    #expect(second.encodedBytes == photo.count)
    #expect(server.requests.map(\.target) == ["/a.jpg"])
  }

  @Test func aNameWithoutExtensionFindsTheFileWithAndTheOneWithout() async throws {
    let photo = try Fixture.photo()
    let server = try LoopbackServer { request in
      ["/sunset-10.jpeg", "/bare"].contains(request.path) ? .data(photo) : .status(.notFound)
    }
    let client = try Fixture.client(server)

    for name in ["sunset-10", "sunset-10.jpeg", "bare"] {
      _ = try await client.picture(Fixture.request(Slide(id: SlideID(name), imageFileName: name)))
    }

    #expect(server.requests.map(\.path) == ["/sunset-10.jpeg", "/bare.jpeg", "/bare"])
  }

  @Test(arguments: ["<!DOCTYPE html><title>Log in</title>", "", "{}", "plain text"])
  func anAnswerThatIsNoPictureIsRefusedAndNotFetchedAgain(text: String) async throws {
    let server = try LoopbackServer { _ in .data(Data(text.utf8), type: "image/jpeg") }
    let client = try Fixture.client(server)

    for _ in 0..<3 {
      let error = await #expect(throws: PictureError.self) { try await client.picture(Self.request) }
      guard case .notLoaded(let failure) = error, [.notAnImage, .empty].contains(failure.kind) else {
        Issue.record("expected that it is no picture, got \(error as Any)")
        return
      }
    }

    #expect(server.requests.count == 1)
  }

  @Test func progressTellsBytesAndTheWhole() async throws {
    let photo = try Fixture.photo("hubble-deep-field.jpg")
    let server = try LoopbackServer { _ in .data(photo) }
    let seen = Journal<Event.Progress>()

    _ = try await Fixture.client(server).picture(Self.request) { progress in seen.append(progress) }

    let last = try #require(seen.entries.last)
    #expect(last.completed == Int64(photo.count))
    #expect(last.total == Int64(photo.count))
  }

  @Test func theDemoMissesOnePictureAndShowsTheOthers() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let slideshow = try await client.slideshow().slideshow
    var missing: [PictureError] = []

    for slide in slideshow.slides {
      do { _ = try await client.picture(Fixture.request(slide)) } catch { missing.append(error) }
    }

    #expect(slideshow.slides.count == 7)
    #expect(missing.count == 1)
    #expect(missing.first?.description.contains("404") == true)
    #expect(missing.first?.description.contains("/sunset-13.jpeg") == true)
  }

  /// A wait after each picture slows all of them; a busy computer does not. The fastest one shows the difference.
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
      times.append(try await ContinuousClock().measure { _ = try await client.picture(Fixture.request(slide)) })
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
    _ = try await client.picture(Self.request)
    changed.append(true)

    client.forgetPictures()
    let again = try await client.picture(Self.request)

    #expect(again.encodedBytes == photos[1].count)
    #expect(again.source == .session(.network))
  }

  @Test func aPictureThatDidNotChangeIsConfirmedAfterAReloadOnce() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "coffee.jpg"))
    let other = Fixture.request(
      Slide(id: SlideID("1"), imageFileName: "coffee.jpg"), box: PixelSize(width: 9, height: 9))
    _ = try await client.picture(request)

    client.forgetPictures()

    #expect(try await client.picture(request).source == .session(.revalidated))
    #expect(try await client.picture(request).source == .memory)
    #expect(try await client.picture(other).source == .session(.cache))
  }

  @Test func whatCannotBeConfirmedIsShownAsItWas() async throws {
    let demo = try DemoService()
    let client = try Fixture.client(service: demo.service, images: demo.imageBase)
    let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "coffee.jpg"))
    _ = try await client.picture(request)

    client.forgetPictures()
    demo.stop()
    defer { withExtendedLifetime(demo) {} }  // its port stays its own

    let again = try await client.picture(request)
    #expect(again.encodedBytes == 68531)
  }
}
