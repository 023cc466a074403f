import Martlet
@testable import MartletImages
import MartletTesting
import TestSupport
import Testing

@Suite("Image cache", .timeLimit(.minutes(5)))
struct ImageCacheTests {
  private func key(_ name: String, partition: String = "") throws -> ImageKey {
    ImageKey(try #require(URL(string: "http://localhost/\(name)")), partition: partition)
  }

  /// 400 bytes of pixels.
  private let image = LoadedImage(
    Bitmap(size: PixelSize(width: 10, height: 10), pixels: Array(repeating: 7, count: 400)))

  @Test func subscriptSetsReadsAndRemoves() throws {
    let cache = ImageCache()
    let key = try key("a")
    #expect(cache[key] == nil)

    cache[key] = image
    #expect(cache[key]?.bitmap == image.bitmap)
    #expect((cache.count, cache.byteCount) == (1, 400))

    cache[key] = nil
    #expect(cache[key] == nil)
    #expect((cache.count, cache.byteCount) == (0, 0))
  }

  @Test func sharedLoaderUsesTheSharedCache() {
    #expect(ImageCache.shared === ImageCache.shared)
    #expect(ImageLoader.shared.configuration.cache === ImageCache.shared)
  }

  @Test func keyOfAURLIsThatOfItsImageInFullSize() throws {
    let url = try #require(URL(string: "http://USER@Example.com:80/a%20b.jpg#part"))
    let loader = ImageLoader.shared

    #expect(loader.key(for: ImageRequest(url)) == ImageKey(url))
    let plain = try #require(URL(string: "http://example.com/a%20b.jpg"))
    #expect(ImageKey(url) == ImageKey(plain))
    #expect(ImageKey(url) != ImageKey(url, partition: "anna"))
    #expect(loader.key(for: ImageRequest(url, targetSize: PixelSize(width: 1, height: 1))) != ImageKey(url))
  }

  @Test func ownFieldsArePartOfTheKey() async throws {
    let fixture = try LoadingFixture { request in
      try request.fields["X-Tenant"] == "a" ? .picture() : .picture("coffee.jpg")
    }
    func picture(_ fields: HTTPFields) -> ImageRequest {
      ImageRequest(HTTPRequest(.get, fixture.server.url("/a.jpg"), fields: fields))
    }

    let first = try await fixture.loader.image(for: picture(["X-Tenant": "a"]))
    let other = try await fixture.loader.image(for: picture(["X-Tenant": "b"]))
    let again = try await fixture.loader.image(for: picture(["x-tenant": "a"]))

    #expect(first.bitmap.size != other.bitmap.size)
    #expect(again.bitmap == first.bitmap && again.source == .memory)
    #expect(fixture.server.requests.count == 2)
    let loader = fixture.loader
    #expect(
      loader.key(for: picture(["A": "1", "B": "2", "a": "3"]))
        == loader.key(for: picture(["b": "2", "a": "1", "A": "3"])))
    #expect(loader.key(for: picture(["A": "1", "a": "3"])) != loader.key(for: picture(["a": "3", "a": "1"])))
  }

  @Test func imageSetInTheCacheIsNotLoaded() async throws {
    let fixture = try LoadingFixture { _ in .status(.notFound) }
    let url = fixture.server.url("/a.jpg")

    fixture.loader.configuration.cache?[url] = image

    #expect(try await fixture.loader.image(for: url).bitmap == image.bitmap)
    #expect(fixture.server.requests.isEmpty)
  }

  @Test func leastRecentlyUsedImageIsRemovedAtTheCountLimit() throws {
    let cache = ImageCache(countLimit: 10)
    let keys = try (0..<12).map { try key("\($0)") }
    for key in keys.prefix(10) { cache[key] = image }

    _ = cache[keys[0]]
    cache[keys[1]] = image
    for key in keys.suffix(2) { cache[key] = image }

    #expect(keys.filter { cache[$0] == nil } == [keys[2], keys[3]])
    #expect(cache.count == 10)
  }

  @Test(arguments: [(1000, 2), (800, 2), (799, 1), (400, 1), (399, 0), (0, 0), (-1, 0)])
  func bytesOfPixelsAreLimited(limit: Int, kept: Int) throws {
    let cache = ImageCache(byteLimit: limit)

    for number in 0..<5 { cache[try key("\(number)")] = image }

    #expect(cache.count == kept)
    #expect(cache.byteCount == kept * 400)
    let last = try key("4")
    #expect((cache[last] != nil) == (kept > 0))
  }

  @Test func replacedImageCountsOnce() throws {
    let cache = ImageCache(byteLimit: 1000)
    for _ in 0..<5 { cache[try key("a")] = image }
    cache[try key("b")] = image

    #expect((cache.count, cache.byteCount) == (2, 800))
  }

  @Test func imageLargerThanTheCacheOnlyRemovesThatOfItsKey() throws {
    let cache = ImageCache(byteLimit: 1000)
    let large = LoadedImage(
      Bitmap(size: PixelSize(width: 20, height: 20), pixels: Array(repeating: 7, count: 1600)))
    cache[try key("a")] = image
    cache[try key("b")] = image

    cache[try key("a")] = large

    #expect(cache[try key("a")] == nil)
    #expect(cache[try key("b")] != nil)
  }

  @Test func partitionIsRemovedAlone() throws {
    let cache = ImageCache()
    for user in ["anna", "ben"] { cache[try key("a", partition: user)] = image }

    cache.removePartition("anna")

    #expect(cache[try key("a", partition: "anna")] == nil)
    #expect(cache[try key("a", partition: "ben")] != nil)
  }

  @Test func cacheMayBeUsedFromManyThreads() async throws {
    let cache = ImageCache(byteLimit: 4000, countLimit: 8)
    let keys = try (0..<20).map { try key("\($0)") }

    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          for round in 0..<200 {
            let key = keys[(worker * 7 + round) % keys.count]
            if round % 3 == 0 {
              cache[key] = image
            } else if round % 11 == 0 {
              cache[key] = nil
            } else {
              _ = cache[key]
            }
          }
        }
      }
    }

    #expect(cache.count <= 8)
    #expect(cache.byteCount == cache.count * 400)
  }

  @Test func warningHalvesTheCacheAndCriticalPressureEmptiesIt() async throws {
    let cache = ImageCache()
    for number in 0..<8 { cache[try key("\(number)")] = image }
    let (signals, inject) = AsyncStream.makeStream(of: MemoryPressure.self)
    let trimming = Task { await cache.trim(on: signals) }

    inject.yield(.warning)
    try await until { cache.count <= 4 }
    #expect(try (4..<8).allSatisfy { cache[try key("\($0)")] != nil })

    inject.yield(.critical)
    inject.finish()
    await trimming.value
    #expect(cache.count == 0)
  }

  @Test(
    arguments: [
      ("some avg10=9.99 avg60=50.00 avg300=0 total=1\nfull avg10=0.00 avg60=0 avg300=0 total=0", nil),
      ("some avg10=10.00 avg60=0.00 avg300=0 total=1\nfull avg10=9.99 avg60=0 avg300=0 total=0", .warning),
      ("some avg10=80.10 avg60=0.00 avg300=0 total=1\nfull avg10=12.50 avg60=0 avg300=0 total=0", .critical),
      ("", nil), ("some avg10=x", nil), ("something else\n", nil),
    ] as [(String, MemoryPressure?)])
  func stallInformationIsParsed(text: String, pressure: MemoryPressure?) {
    #expect(MemoryPressure(stall: text) == pressure)
  }

  @Test func signalsComeFromTheFirstReadableFile() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "pressure-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appending(path: "memory.pressure")
    try Data("some avg10=0.00".utf8).write(to: file)
    let clock = ManualClock()
    let signals = MemoryPressure.signals(in: [folder.appending(path: "missing"), file], clock: clock)
    let first = Task { await signals.first { _ in true } }

    try await clock.sleepers(1)
    clock.advance(by: .seconds(5))
    try await clock.sleepers(1)
    try Data("some avg10=20.00".utf8).write(to: file)
    clock.advance(by: .seconds(5))

    #expect(await first.value == .warning)
  }

  @Test func withoutAFileThereAreNoSignals() async throws {
    for await pressure in MemoryPressure.signals(in: []) { Issue.record("\(pressure)") }
  }
}
