import Martlet
import MartletEngine
@testable import MartletImages
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

/// Images that need other images: an interceptor of the session uses the loader of the session.
@Suite("Loads that need other loads", .timeLimit(.minutes(5)))
struct CircularLoadTests {
  /// Loads an image while another one is being loaded, once.
  private final class Asking: Interceptor {
    let path: String
    let work: @Sendable (ImageLoader) async throws -> Void
    let loader = Mutex<ImageLoader?>(nil)
    private let hasAsked = Atomic(false)

    init(_ path: String, _ work: @escaping @Sendable (ImageLoader) async throws -> Void) {
      (self.path, self.work) = (path, work)
    }

    func review(_ outcome: Outcome, of attempt: Attempt, in call: Call) async throws -> Verdict {
      guard attempt.sent.url.path == path, let loader = loader.withLock({ $0 }),
        !hasAsked.exchange(true, ordering: .relaxed)
      else { return .accept }
      try await work(loader)
      return .accept
    }
  }

  private func loader(
    _ asking: Asking..., change: (inout ImageLoader.Configuration) -> Void = { _ in }
  ) throws -> (LoopbackServer, ImageLoader) {
    let server = try LoopbackServer { _ in try .picture() }
    var settings = SessionConfiguration()
    settings.cache = nil
    settings.interceptors = asking
    var configuration = ImageLoader.Configuration()
    change(&configuration)
    let loader = ImageLoader(session: HTTPSession(configuration: settings), configuration: configuration)
    for asking in asking { asking.loader.withLock { $0 = loader } }
    return (server, loader)
  }

  @Test func anInterceptorCanLoadTheSameImage() async throws {
    let url = Mutex<URL?>(nil)
    let asking = Asking("/a.jpg") { loader in _ = try await loader.image(for: #require(url.withLock { $0 })) }
    let (server, loader) = try loader(asking)
    url.withLock { $0 = server.url("/a.jpg") }

    #expect(try await loader.image(for: server.url("/a.jpg")).bitmap.size.width == 40)

    #expect(server.requests.count == 2)
    asking.loader.withLock { $0 = nil }
  }

  @Test func anInterceptorCanCarryTheContext() async throws {
    let url = Mutex<URL?>(nil)
    let asking = Asking("/a.jpg") { loader in
      let (url, context) = (try #require(url.withLock { $0 }), CallContext.current)
      _ = try await Task.detached { try await context.perform { try await loader.image(for: url) } }.value
    }
    let (server, loader) = try loader(asking)
    url.withLock { $0 = server.url("/a.jpg") }

    #expect(try await loader.image(for: server.url("/a.jpg")).bitmap.size.width == 40)
    asking.loader.withLock { $0 = nil }
  }

  @Test func aNestedLoadDoesNotNeedAPlace() async throws {
    let url = Mutex<URL?>(nil)
    let asking = Asking("/a.jpg") { loader in _ = try await loader.image(for: #require(url.withLock { $0 })) }
    let (server, loader) = try loader(asking) { $0.concurrentLoads = 1 }
    url.withLock { $0 = server.url("/b.jpg") }

    #expect(try await loader.image(for: server.url("/a.jpg")).bitmap.size.width == 40)
    asking.loader.withLock { $0 = nil }
  }

  @Test func aLoadWithAPlaceDoesNotJoinAQueuedLoad() async throws {
    let url = Mutex<URL?>(nil)
    let (reviewing, queued) = (Gate(), Gate())
    let asking = Asking("/a.jpg") { loader in
      reviewing.open()
      try await queued.wait()
      _ = try await loader.image(for: #require(url.withLock { $0 }))
    }
    let (server, loader) = try loader(asking) { $0.concurrentLoads = 1 }
    let (first, second) = (server.url("/a.jpg"), server.url("/b.jpg"))
    url.withLock { $0 = second }

    let a = Task { try await loader.image(for: first) }
    try await reviewing.wait()
    let b = Task { try await loader.image(for: second) }
    try await until { loader.queueLengths.loads >= 1 }
    queued.open()

    let widths = try await [a.value.bitmap.size.width, b.value.bitmap.size.width]
    #expect(widths == [40, 40])
    asking.loader.withLock { $0 = nil }
  }

  @Test func twoImagesThatNeedEachOtherAreBothLoaded() async throws {
    let urls = Mutex<[URL]>([])
    let (one, two) = (Gate(), Gate())
    let first = Asking("/a.jpg") { loader in
      one.open()
      try await two.wait()
      _ = try await loader.image(for: urls.withLock { $0[1] })
    }
    let second = Asking("/b.jpg") { loader in
      two.open()
      try await one.wait()
      _ = try await loader.image(for: urls.withLock { $0[0] })
    }
    let (server, loader) = try loader(first, second)
    urls.withLock { $0 = [server.url("/a.jpg"), server.url("/b.jpg")] }

    async let a = loader.image(for: server.url("/a.jpg"))
    async let b = loader.image(for: server.url("/b.jpg"))

    let widths = try await [a.bitmap.size.width, b.bitmap.size.width]
    #expect(widths == [40, 40])
    for asking in [first, second] { asking.loader.withLock { $0 = nil } }
  }

  @Test func anUnnoticedCircleEndsAfterTwiceTheResponseTimeout() async throws {
    let clock = ManualClock()
    let url = Mutex<URL?>(nil)
    let asking = Asking("/a.jpg") { loader in
      let url = try #require(url.withLock { $0 })
      _ = try await Task.detached { try await loader.image(for: url) }.value
    }
    let (server, loader) = try loader(asking) { $0.clock = clock }
    url.withLock { $0 = server.url("/a.jpg") }

    async let image = loader.image(for: server.url("/a.jpg"))
    try await until { loader.waiterCount(for: ImageRequest(server.url("/a.jpg"))) == 2 }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(120))

    #expect(try await image.bitmap.size.width == 40)
    #expect(server.requests.count == 2)
    asking.loader.withLock { $0 = nil }
  }
}
