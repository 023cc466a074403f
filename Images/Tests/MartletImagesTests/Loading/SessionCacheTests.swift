import Martlet
import MartletImages
import MartletTesting
import Synchronization
import Testing

@Suite("Files in the session's cache", .timeLimit(.minutes(5)))
struct SessionCacheTests {
  /// A wall clock that the test advances.
  private final class Wall: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_735_689_600))
    var now: Date { time.withLock { $0 } }
    func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
  }

  private let wall = Wall()
  private let cache: HTTPCache

  init() { cache = HTTPCache { [wall] in wall.now } }

  /// Returns a loader without images in memory, so that every image comes from the session.
  private func fixture(respond: @escaping LoopbackServer.Responder) throws -> LoadingFixture {
    try LoadingFixture(cache: cache) {
      $0.cache = nil
    } respond: {
      try await respond($0)
    }
  }

  private static func tagged(_ request: LoopbackRequest, _ control: String) throws -> Reply {
    request.fields[.ifNoneMatch] == "\"1\""
      ? .status(.notModified, fields: [.eTag: "\"1\"", .cacheControl: control])
      : try .picture().with(.eTag, "\"1\"").with(.cacheControl, control)
  }

  @Test func imageIsFreshThenRevalidatedThenAvailableOffline() async throws {
    let fixture = try fixture { try Self.tagged($0, "max-age=60") }
    func source() async throws -> ImageSource { try await fixture.loader.image(for: fixture.picture()).source }

    #expect(try await source() == .session(.network))
    #expect(try await source() == .session(.cache))
    wall.advance(61)
    #expect(try await source() == .session(.revalidated))
    #expect(fixture.server.requests.map { $0.fields[.ifNoneMatch] } == [nil, "\"1\""])

    wall.advance(86_400)
    fixture.server.stop()
    #expect(try await source() == .session(.offline))

    let statistics = fixture.loader.statistics
    for source in [HTTPResponse.Source.network, .cache, .revalidated, .offline] {
      #expect(statistics[.session(source)].count == 1)
      #expect(statistics[.session(source)].bytes == 864)
    }
  }

  @Test func staleImageIsUsedIfTheServerFails() async throws {
    let isDown = Atomic(false)
    let fixture = try fixture { request in
      isDown.load(ordering: .relaxed)
        ? .status(.internalServerError) : try Self.tagged(request, "max-age=60, stale-if-error=600")
    }
    _ = try await fixture.loader.image(for: fixture.picture())

    isDown.store(true, ordering: .relaxed)
    wall.advance(61)

    #expect(try await fixture.loader.image(for: fixture.picture()).source == .session(.stale))
  }

  @Test func reloadIgnoresTheMemoryAndSendsARequest() async throws {
    let fixture = try LoadingFixture(cache: cache) { _ in
    } respond: {
      try Self.tagged($0, "max-age=60")
    }
    _ = try await fixture.loader.image(for: fixture.picture())
    var reload = fixture.picture()
    reload.http.options.cachePolicy = .reloadRevalidatingCacheData

    #expect(fixture.loader.cachedImage(for: reload) == nil)
    #expect(try await fixture.loader.image(for: reload).source == .session(.revalidated))
    #expect(try await fixture.loader.image(for: fixture.picture()).source == .memory)
  }

  /// The field, how long memory answers at least, and when a request is sent again.
  static let lifetimes: [(String, Duration, Int)] = [
    ("max-age=600", .zero, 600), ("max-age=600", .seconds(300), 600), ("max-age=60", .seconds(300), 300),
    ("no-cache, max-age=600", .seconds(300), 300), ("private", .seconds(300), 300), ("no-cache", .seconds(9), 9),
  ]

  @Test(arguments: lifetimes)
  func memoryAnswersWhileTheResponseIsFreshAndAtLeastForItsAge(
    control: String, age: Duration, end: Int
  ) async throws {
    let clock = ManualClock()
    let fixture = try LoadingFixture {
      $0.clock = clock
      $0.memoryAge = age
    } respond: {
      try Self.tagged($0, control)
    }
    _ = try await fixture.loader.image(for: fixture.picture())

    clock.advance(by: .seconds(end - 5))  // The response's Date has whole seconds.
    #expect(try await fixture.loader.image(for: fixture.picture()).source == .memory)
    clock.advance(by: .seconds(5))

    #expect(fixture.loader.cachedImage(for: fixture.picture()) == nil)
    #expect(try await fixture.loader.image(for: fixture.picture()).source == .session(.network))
    #expect(fixture.server.requests.count == 2)
  }

  @Test func imageWithoutALifetimeIsNotInMemoryIfItsAgeIsZero() async throws {
    let fixture = try LoadingFixture {
      $0.memoryAge = .zero
    } respond: { _ in
      try .picture().with(.cacheControl, "no-cache")
    }

    for _ in 0..<2 { _ = try await fixture.loader.image(for: fixture.picture()) }

    #expect(fixture.server.requests.count == 2)
    #expect(fixture.loader.configuration.cache?.count == 0)
  }

  @Test func allSizesOfAURLShowTheLatestPicture() async throws {
    let version = Atomic(1)
    let fixture = try LoadingFixture { _ in
      try .picture(version.load(ordering: .relaxed) == 1 ? "coffee.jpg" : "chelsea.webp")
    }
    let (small, large) = (fixture.picture(fitting: 30), fixture.picture(fitting: 60))
    let other = fixture.picture("/other.jpg")
    for request in [small, fixture.picture(), other] { _ = try await fixture.loader.image(for: request) }

    version.store(2, ordering: .relaxed)
    let newest = try await fixture.loader.image(for: large)

    #expect(fixture.loader.cachedImage(for: small) == nil)
    #expect(fixture.loader.cachedImage(for: fixture.picture()) == nil)
    #expect(fixture.loader.cachedImage(for: large)?.info?.format == .webp)
    #expect(fixture.loader.cachedImage(for: other) != nil)
    #expect(try await fixture.loader.image(for: small).info?.format == newest.info?.format)
  }

  @Test func imageWithNoStoreIsNotInMemory() async throws {
    let fixture = try LoadingFixture(cache: cache) { _ in
    } respond: { _ in
      try .picture().with(.cacheControl, "no-store")
    }

    for _ in 0..<2 { _ = try await fixture.loader.image(for: fixture.picture()) }

    #expect(fixture.server.requests.count == 2)
    #expect(fixture.loader.configuration.cache?.count == 0)
  }

  @Test(arguments: ["<!DOCTYPE html><title>Log in</title>", ""])
  func loginPageIsNotServedAgainFromTheCache(text: String) async throws {
    let isIn = Atomic(false)
    let fixture = try fixture { _ in
      isIn.load(ordering: .relaxed)
        ? try .picture() : .text(text).with(.cacheControl, "max-age=3600").with(.eTag, "\"1\"")
    }
    await #expect(throws: ImageLoadError.self) { try await fixture.loader.image(for: fixture.picture()) }
    #expect(try await cache.usage().entries == 0)

    isIn.store(true, ordering: .relaxed)
    fixture.loader.forgetFailures()

    #expect(try await fixture.loader.image(for: fixture.picture()).source == .session(.network))
  }

  @Test func removingAPartitionRemovesItEverywhere() async throws {
    let fixture = try LoadingFixture(cache: cache) { _ in
    } respond: {
      try Self.tagged($0, "max-age=60")
    }
    func picture(of user: String) -> ImageRequest {
      var request = fixture.picture()
      request.http.options.partition = user
      return request
    }
    for user in ["anna", "ben"] { _ = try await fixture.loader.image(for: picture(of: user)) }

    try await fixture.loader.removePartition("anna")

    #expect(fixture.loader.cachedImage(for: picture(of: "anna")) == nil)
    #expect(fixture.loader.cachedImage(for: picture(of: "ben")) != nil)
    #expect(try await cache.usage().entries == 1)
    #expect(try await fixture.loader.image(for: picture(of: "anna")).source == .session(.network))

    try await fixture.loader.removeAll()
    #expect(fixture.loader.configuration.cache?.count == 0)
    #expect(try await cache.usage().entries == 0)
  }

  @Test func removingAPartitionCancelsItsRunningLoads() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture(cache: cache) { _ in
    } respond: { _ in
      try .picture().stalled(after: 100, until: gate)
    }
    var request = fixture.picture()
    request.http.options.partition = "anna"
    let caller = fixture.begin(request)
    _ = try await fixture.server.request(1)

    try await fixture.loader.removePartition("anna")

    let error = await #expect(throws: ImageLoadError.self) { try await caller.value }
    #expect(error?.kind == .cancelled)
    #expect(try await fixture.server.end(ofConnection: 1) == .client)
    #expect(fixture.loader.cachedImage(for: request) == nil)
    #expect(try await cache.usage().entries == 0)
  }
}
