import Martlet
import MartletImages
import MartletTesting
import Testing

@Suite("Row 47: a window of pictures ahead", .timeLimit(.minutes(5)))
struct ImagePrefetcherTests {
  @Test func windowIsLoadedIntoMemoryInItsOrder() async throws {
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 1
    } respond: { _ in
      try .picture()
    }
    let window = (0..<4).map { fixture.picture("/\($0)") }
    let prefetcher = ImagePrefetcher(loader: fixture.loader)

    prefetcher.move(to: window)

    for request in window { while fixture.loader.cachedImage(for: request) == nil { await Task.yield() } }
    #expect(Set(fixture.server.requests.map(\.path)) == ["/0", "/1", "/2", "/3"])
    #expect(fixture.server.requests.count == 4)

    prefetcher.move(to: [])
    prefetcher.move(to: window)
    #expect(fixture.loader.waiting(for: window[0]) == 0)
  }

  @Test func whatIsNotKeptIsNotLoadedAheadEither() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    var post = fixture.picture("/post")
    post.http.method = .post
    let prefetcher = ImagePrefetcher(loader: fixture.loader)

    prefetcher.move(to: [post, fixture.picture()])
    while fixture.loader.cachedImage(for: fixture.picture()) == nil { await Task.yield() }

    #expect(fixture.server.requests.map(\.path) == ["/a.jpg"])
    withExtendedLifetime(prefetcher) {}
  }

  @Test func whatLeftTheWindowIsCancelledAndWhatStayedGoesOn() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { request in
      request.path == "/0" ? .never : try .picture().held(by: gate)
    }
    let requests = (0..<3).map { fixture.picture("/\($0)") }
    let prefetcher = ImagePrefetcher(loader: fixture.loader)
    prefetcher.move(to: requests.prefix(2))
    _ = try await fixture.server.request(2)

    prefetcher.move(to: requests.suffix(2))

    await fixture.ended(requests[0])
    gate.open()
    for request in requests.suffix(2) {
      while fixture.loader.cachedImage(for: request) == nil { await Task.yield() }
    }
    #expect(fixture.server.requests.filter { $0.path == "/1" }.count == 1)
  }

  @Test func whoeverWaitsForAPictureKeepsItWhenItLeavesTheWindow() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { _ in try .picture().held(by: gate) }
    let prefetcher = ImagePrefetcher(loader: fixture.loader)
    prefetcher.move(to: [fixture.picture()])
    _ = try await fixture.server.request(1)
    let caller = await fixture.begin(fixture.picture(), waiting: 2)

    prefetcher.move(to: [])
    while fixture.loader.waiting(for: fixture.picture()) > 1 { await Task.yield() }
    gate.open()

    #expect(try await caller.value.bitmap.size.width == 40)
    #expect(fixture.server.requests.count == 1)
  }

  @Test func whatIsLookedAtIsLoadedBeforeWhatIsAhead() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 1
    } respond: { request in
      request.path == "/first" ? try .picture().held(by: gate) : try .picture()
    }
    let first = await fixture.begin(fixture.picture("/first"))
    _ = try await fixture.server.request(1)
    let prefetcher = ImagePrefetcher(loader: fixture.loader)
    prefetcher.move(to: [fixture.picture("/ahead")])
    while fixture.loader.queued.loads < 1 { await Task.yield() }
    let seen = await fixture.begin(fixture.picture("/seen"))
    while fixture.loader.queued.loads < 2 { await Task.yield() }

    gate.open()

    _ = try await (first.value, seen.value)
    _ = try await fixture.server.request(3)
    #expect(fixture.server.requests.map(\.path) == ["/first", "/seen", "/ahead"])
  }

  @Test func prefetcherThatGoesGivesAllUp() async throws {
    let fixture = try LoadingFixture { _ in .never }
    var prefetcher: ImagePrefetcher? = ImagePrefetcher(loader: fixture.loader)
    prefetcher?.move(to: [fixture.picture()])
    _ = try await fixture.server.request(1)

    prefetcher = nil

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }
}
