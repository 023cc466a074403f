import Martlet
import MartletTesting
import SlideshowModel
import Testing

@Suite("Row 49: the image cache", .timeLimit(.minutes(5)))
struct ImageCacheTests {
  private let picture: Picture
  private let urls: [URL]

  init() throws {
    picture = try Picture(Fixture.photo("chelsea.webp"))
    urls = try (0..<12).map { try Fixture.url("http://localhost/\($0).jpeg") }
  }

  @Test func subscriptSetsReadsAndRemoves() {
    let cache = ImageCache()
    #expect(cache[urls[0]] == nil)

    cache[urls[0]] = picture
    #expect(cache[urls[0]]?.size == picture.size)

    cache[urls[0]] = nil
    #expect(cache[urls[0]] == nil)
    #expect(cache.count == 0)
  }

  @Test func theOneOfTheApplicationIsShared() {
    #expect(ImageCache.shared === ImageCache.shared)
  }

  @Test func tenPicturesAreKeptAndTheLeastUsedGoesFirst() {
    let cache = ImageCache()
    for url in urls.prefix(10) { cache[url] = picture }

    _ = cache[urls[0]]
    cache[urls[10]] = picture
    cache[urls[11]] = picture

    #expect(cache.count == 10)
    #expect(cache[urls[0]] != nil)
    #expect(cache[urls[1]] == nil)
    #expect(cache[urls[2]] == nil)
    #expect(cache[urls[3]] != nil)
  }

  @Test func twoServersNeverShareAPicture() throws {
    let cache = ImageCache()
    cache[try Fixture.url("http://localhost:1/a.jpeg")] = picture

    #expect(cache[try Fixture.url("http://localhost:2/a.jpeg")] == nil)
  }

  @Test func manyTasksAtOnceLoadOnce() async throws {
    let cache = ImageCache()
    let gate = Gate()
    let loads = Journal<Int>()

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 {
        group.addTask { [urls, picture] in
          _ = try await cache.picture(for: urls[0]) {
            loads.append(1)
            try? await gate.wait()
            return .success(picture)
          }
        }
      }
      gate.open()
      try await group.waitForAll()
    }

    #expect(loads.entries.count == 1)
    #expect(cache.count == 1)
  }

  @Test func aFailedLoadIsNotTriedAgainUntilItIsForgotten() async throws {
    let cache = ImageCache()
    let loads = Journal<Int>()
    let load: @Sendable () async -> Result<Picture, PictureError> = { [url = urls[0]] in
      loads.append(1)
      return .failure(.notAnImage(url, reason: "damaged"))
    }

    for _ in 0..<5 {
      await #expect(throws: PictureError.self) { try await cache.picture(for: urls[0], load: load) }
    }
    #expect(loads.entries.count == 1)
    #expect(cache.count == 0)

    cache.removeAll()
    await #expect(throws: PictureError.self) { try await cache.picture(for: urls[0], load: load) }
    #expect(loads.entries.count == 2)
  }

  @Test func aLoadUnderWayDoesNotOverwriteWhatWasSetMeanwhile() async throws {
    let cache = ImageCache()
    let newer = try Picture(Fixture.photo("coffee.jpg"))

    _ = try await cache.picture(for: urls[0]) { [urls, picture] in
      cache[urls[0]] = newer
      return .success(picture)
    }

    #expect(cache[urls[0]]?.size == newer.size)
  }

  @Test func aLoadThatNobodyWaitsForIsCancelledAndNotRemembered() async throws {
    let cache = ImageCache()
    let started = Gate()
    let task = Task { [urls] in
      try await cache.picture(for: urls[0]) {
        started.open()
        do { try await Gate().wait() } catch { return .failure(.cancelled) }
        return .failure(.noFileName)
      }
    }
    try await started.wait()

    task.cancel()

    await #expect(throws: PictureError.cancelled) { try await task.value }
    let (_, isKept) = try await cache.picture(for: urls[0]) { [picture] in .success(picture) }
    #expect(!isKept)
  }
}
