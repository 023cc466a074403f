import Martlet
@testable import MartletImages
import MartletTesting
import TestSupport
import Testing

@Suite("Image prefetcher", .timeLimit(.minutes(5)))
struct ImagePrefetcherTests {
  @Test func windowIsLoadedIntoMemory() async throws {
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 1
    } respond: { _ in
      try .picture()
    }
    let window = (0..<4).map { fixture.picture("/\($0)") }
    let prefetcher = ImagePrefetcher(loader: fixture.loader)

    prefetcher.prefetch(window)

    for request in window { try await until { fixture.loader.cachedImage(for: request) != nil } }
    #expect(Set(fixture.server.requests.map(\.path)) == ["/0", "/1", "/2", "/3"])
    #expect(fixture.server.requests.count == 4)

    prefetcher.prefetch([])
    prefetcher.prefetch(window)
    #expect(fixture.loader.waiterCount(for: window[0]) == 0)
  }

  @Test func imagesThatAreNotCachedAreNotPrefetched() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    var post = fixture.picture("/post")
    post.http.method = .post
    let prefetcher = ImagePrefetcher(loader: fixture.loader)

    prefetcher.prefetch([post, fixture.picture()])
    try await until { fixture.loader.cachedImage(for: fixture.picture()) != nil }

    #expect(fixture.server.requests.map(\.path) == ["/a.jpg"])
    withExtendedLifetime(prefetcher) {}
  }

  @Test func loadsThatLeaveTheWindowAreCancelledAndOthersContinue() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { request in
      request.path == "/0" ? .never : try .picture().held(by: gate)
    }
    let requests = (0..<3).map { fixture.picture("/\($0)") }
    let prefetcher = ImagePrefetcher(loader: fixture.loader)
    prefetcher.prefetch(requests.prefix(2))
    _ = try await fixture.server.request(2)

    prefetcher.prefetch(requests.suffix(2))

    try await fixture.ended(requests[0])
    gate.open()
    for request in requests.suffix(2) {
      try await until { fixture.loader.cachedImage(for: request) != nil }
    }
    #expect(fixture.server.requests.filter { $0.path == "/1" }.count == 1)
  }

  @Test func aCallerKeepsTheLoadWhenItLeavesTheWindow() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { _ in try .picture().held(by: gate) }
    let prefetcher = ImagePrefetcher(loader: fixture.loader)
    prefetcher.prefetch([fixture.picture()])
    _ = try await fixture.server.request(1)
    let caller = fixture.begin(fixture.picture())

    prefetcher.prefetch([])
    try await until { fixture.loader.waiterCount(for: fixture.picture()) <= 1 }
    gate.open()

    #expect(try await caller.value.bitmap.size.width == 40)
    #expect(fixture.server.requests.count == 1)
  }

  @Test func requestedImagesAreLoadedBeforePrefetchedOnes() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 1
    } respond: { request in
      request.path == "/first" ? try .picture().held(by: gate) : try .picture()
    }
    let first = fixture.begin(fixture.picture("/first"))
    _ = try await fixture.server.request(1)
    let prefetcher = ImagePrefetcher(loader: fixture.loader)
    prefetcher.prefetch([fixture.picture("/ahead")])
    try await until { fixture.loader.queueLengths.loads >= 1 }
    let seen = fixture.begin(fixture.picture("/seen"))
    try await until { fixture.loader.queueLengths.loads >= 2 }

    gate.open()

    _ = try await (first.value, seen.value)
    _ = try await fixture.server.request(3)
    #expect(fixture.server.requests.map(\.path) == ["/first", "/seen", "/ahead"])
  }

  @Test func releasedPrefetcherCancelsItsLoads() async throws {
    let fixture = try LoadingFixture { _ in .never }
    var prefetcher: ImagePrefetcher? = ImagePrefetcher(loader: fixture.loader)
    prefetcher?.prefetch([fixture.picture()])
    _ = try await fixture.server.request(1)

    prefetcher = nil

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }
}
