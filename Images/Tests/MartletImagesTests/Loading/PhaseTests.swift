import Martlet
import MartletCombine
@testable import MartletImages
import MartletTesting
import TestSupport
import Testing

@Suite("Phases of a load", .timeLimit(.minutes(5)))
struct PhaseTests {
  @Test func phasesComeInOrder() async throws {
    let head = Gate()
    let rest = Gate()
    let fixture = try LoadingFixture { _ in
      try .picture("coffee.jpg").held(by: head).stalled(after: 1000, until: rest)
    }
    var phases = fixture.loader.phases(for: fixture.picture()).makeAsyncIterator()

    #expect(await phases.next()?.name == "loading")
    head.open()
    let partly = await phases.next()
    #expect(partly?.name.hasSuffix("of 68531") == true)
    #expect(partly?.isLoading == true && partly?.bitmap == nil)
    rest.open()
    var last: ImagePhase?
    while let phase = await phases.next() {
      #expect(last == nil || last?.isLoading == true)
      last = phase
    }

    #expect(last?.bitmap?.size.width == 600)
    #expect(last?.image?.duration ?? .zero > .zero)
    #expect(last?.isLoading == false)
  }

  @Test func previewsHaveTheRequestedSizeAndProcessors() async throws {
    let head = Gate()
    let gate = Gate()
    let file = try Fixture.data("progressive.jpg")
    let fixture = try LoadingFixture { _ in
      .data(file, type: "image/jpeg").held(by: head).stalled(after: Int64(file.count - 3), until: gate)
    }
    var request = fixture.picture(fitting: 20)
    request.processors = [Cut(width: 10)]
    var phases = fixture.loader.phases(for: request).makeAsyncIterator()
    try await until { fixture.loader.waiterCount(for: request) >= 1 }
    let plain = fixture.begin(request)
    head.open()

    var phase = await phases.next()
    while phase?.bitmap == nil { phase = await phases.next() }
    #expect(phase?.name == "preview")
    #expect(phase?.bitmap?.size == PixelSize(width: 10, height: 15))
    #expect(phase?.isLoading == true)
    gate.open()
    while let next = await phases.next() { phase = next }

    #expect(phase?.image?.bitmap.size == PixelSize(width: 10, height: 15))
    let bitmap = try await plain.value.bitmap
    #expect(bitmap == phase?.bitmap)
    #expect(fixture.server.requests.count == 1)
  }

  @Test func failureIsTheLastPhase() async throws {
    let fixture = try LoadingFixture { _ in .status(.notFound) }
    var last: ImagePhase?

    for await phase in fixture.loader.phases(for: fixture.server.url("/a.jpg")) { last = phase }

    #expect(last?.error?.kind == .status)
  }

  @Test func imageInMemoryIsASuccessAtOnce() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    _ = try await fixture.loader.image(for: fixture.picture())

    var names: [String] = []
    for await phase in fixture.loader.phases(for: fixture.picture()) { names.append(phase.name) }

    #expect(names == ["success"])
  }

  @Test func releasedStreamCancelsItsLoad() async throws {
    let fixture = try LoadingFixture { _ in .never }
    do {
      let phases = fixture.loader.phases(for: fixture.picture())
      _ = try await fixture.server.request(1)
      withExtendedLifetime(phases) {}
    }

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func imagePublisherBeginsWithDemandAndSharesTheLoad() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { _ in try .picture().held(by: gate) }
    let publisher = fixture.loader.imagePublisher(for: fixture.picture())
    let idle = Idle<LoadedImage, ImageLoadError>()
    publisher.receive(subscriber: idle)
    let log = Journal<String>()
    let subscriptions = (0..<2).map { _ in
      publisher.sink {
        log.append("\($0)")
      } receiveValue: {
        log.append("\($0.bitmap.size)")
      }
    }
    try await until { fixture.loader.waiterCount(for: fixture.picture()) >= 2 }

    gate.open()
    try await log.waitForEntries(4)

    #expect(log.entries.sorted() == ["40×30", "40×30", "finished", "finished"])
    #expect(fixture.server.requests.count == 1)
    #expect(fixture.loader.statistics.shared == 1)
    withExtendedLifetime((subscriptions, idle)) {}
  }

  @Test func cancelledSubscriptionsCancelTheDownload() async throws {
    let fixture = try LoadingFixture { _ in .never }
    let image = fixture.loader.imagePublisher(for: fixture.server.url("/a.jpg")).sink { _ in
    } receiveValue: { _ in
    }
    let phases = fixture.loader.phasePublisher(for: fixture.picture()).sink { _ in }
    try await until { fixture.loader.waiterCount(for: fixture.picture()) >= 2 }
    _ = try await fixture.server.request(1)

    image.cancel()
    phases.cancel()

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func phasePublisherNeverFailsAndEndsWithTheLastPhase() async throws {
    let fixture = try LoadingFixture { request in request.path == "/a.jpg" ? try .picture() : .status(.notFound) }
    for (target, end) in [("/a.jpg", "success"), ("/b.jpg", "failure: status")] {
      var names: [String] = []
      for try await phase in fixture.loader.phasePublisher(for: fixture.picture(target)).values {
        names.append(phase.name)
      }
      #expect(names.last == end)
    }
  }

  /// A subscriber that never requests a value.
  private final class Idle<Input, Failure: Error>: Subscriber {
    func receive(subscription: any Subscription) {}
    func receive(_ input: Input) -> Subscribers.Demand { .none }
    func receive(completion: Subscribers.Completion<Failure>) {}
  }
}
