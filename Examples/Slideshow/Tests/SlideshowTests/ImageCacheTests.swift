import Martlet
import MartletImages
import MartletTesting
import SlideshowModel
import Testing

@Suite("The image cache", .timeLimit(.minutes(5)))
struct ImageCacheTests {
  private let picture = LoadedImage(Bitmap(size: PixelSize(width: 1, height: 1), pixels: [1, 2, 3, 255]))
  private let urls: [URL]

  init() throws { urls = try (0..<12).map { try Fixture.url("http://localhost/\($0).jpeg") } }

  @Test func theOneOfTheSlideshowIsSharedAndHasASubscript() {
    #expect(ImageCache.slideshow === ImageCache.slideshow)
    #expect(ImageCache.slideshow[urls[0]] == nil)

    ImageCache.slideshow[urls[0]] = picture
    #expect(ImageCache.slideshow[urls[0]]?.bitmap == picture.bitmap)

    ImageCache.slideshow[urls[0]] = nil
    #expect(ImageCache.slideshow[urls[0]] == nil)
  }

  @Test func tenPicturesAreKeptAndTheLeastUsedGoesFirst() async throws {
    let photo = try Fixture.photo()
    let server = try LoopbackServer { _ in .data(photo, type: "image/jpeg") }
    let client = try Fixture.client(server, cache: ImageCache(countLimit: 10))
    let requests = (0..<12).map {
      Fixture.request(Slide(id: SlideID("\($0)"), imageFileName: "\($0).jpg"), box: PixelSize(width: 8, height: 8))
    }
    for request in requests.prefix(10) { _ = try await client.picture(request) }

    #expect(client.pictureInMemory(requests[0]) != nil)
    for request in requests.suffix(2) { _ = try await client.picture(request) }

    #expect(client.pictureInMemory(requests[0]) != nil)
    #expect(client.pictureInMemory(requests[1]) == nil)
    #expect(client.pictureInMemory(requests[2]) == nil)
    #expect(client.pictureInMemory(requests[3]) != nil)
  }

  @Test func twoServersNeverShareAPicture() throws {
    let cache = ImageCache()
    cache[try Fixture.url("http://localhost:1/a.jpeg")] = picture

    #expect(cache[try Fixture.url("http://localhost:2/a.jpeg")] == nil)
  }

  @Test func manyTasksAtOnceLoadOnce() async throws {
    let photo = try Fixture.photo()
    let gate = Gate()
    let server = try LoopbackServer { _ in .data(photo, type: "image/jpeg").held(by: gate) }
    let client = try Fixture.client(server)
    let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "a.jpg"))

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { _ = try await client.picture(request) } }
      gate.open()
      try await group.waitForAll()
    }

    #expect(server.requests.count == 1)
  }

  @Test func aFailedLoadIsNotTriedAgainUntilItIsForgotten() async throws {
    let server = try LoopbackServer { _ in .text("no picture") }
    let client = try Fixture.client(server)
    let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "a.jpg"))

    for _ in 0..<5 { await #expect(throws: PictureError.self) { try await client.picture(request) } }
    #expect(server.requests.count == 1)

    client.forgetPictures()
    await #expect(throws: PictureError.self) { try await client.picture(request) }
    #expect(server.requests.count == 2)
  }

  @Test func whoIsCancelledIsToldSoAndNothingIsRemembered() async throws {
    let photo = try Fixture.photo()
    let gate = Gate()
    let server = try LoopbackServer { _ in .data(photo, type: "image/jpeg").held(by: gate) }
    let client = try Fixture.client(server)
    let request = Fixture.request(Slide(id: SlideID("1"), imageFileName: "a.jpg"))
    let task = Task { try await client.picture(request) }
    _ = try await server.request(1)

    task.cancel()

    let error = await #expect(throws: PictureError.self) { try await task.value }
    #expect(error?.isCancelled == true)
    gate.open()
    _ = try await client.picture(request)
  }
}
