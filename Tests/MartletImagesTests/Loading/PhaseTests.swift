import Martlet
import MartletCombine
import MartletImages
import MartletTesting
import Synchronization
import Testing

@Suite("Rows 42 and 48: placeholder, progress, picture, failure", .timeLimit(.minutes(5)))
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

  @Test func previewsOfAProgressiveJPEGComeBeforeThePictureInItsSizeAndProcessed() async throws {
    let head = Gate()
    let gate = Gate()
    let file = try Fixture.data("progressive.jpg")
    let fixture = try LoadingFixture { _ in
      .data(file, type: "image/jpeg").held(by: head).stalled(after: Int64(file.count - 3), until: gate)
    }
    var request = fixture.picture(fitting: 20)
    request.processors = [Cut(width: 10)]
    var phases = fixture.loader.phases(for: request).makeAsyncIterator()
    while fixture.loader.waiting(for: request) < 1 { await Task.yield() }
    let plain = await fixture.begin(request, waiting: 2)
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

  @Test func pictureInMemoryIsASuccessAtOnce() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    _ = try await fixture.loader.image(for: fixture.picture())

    var names: [String] = []
    for await phase in fixture.loader.phases(for: fixture.picture()) { names.append(phase.name) }

    #expect(names == ["success"])
  }

  @Test func streamThatNobodyKeepsGivesItsLoadUp() async throws {
    let fixture = try LoadingFixture { _ in .never }
    do {
      let phases = fixture.loader.phases(for: fixture.picture())
      _ = try await fixture.server.request(1)
      withExtendedLifetime(phases) {}
    }

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func publisherOfAPictureBeginsWithDemandAndSharesTheLoad() async throws {
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
    while fixture.loader.waiting(for: fixture.picture()) < 2 { await Task.yield() }

    gate.open()
    while log.entries.count < 4 { await Task.yield() }

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
    while fixture.loader.waiting(for: fixture.picture()) < 2 { await Task.yield() }
    _ = try await fixture.server.request(1)

    image.cancel()
    phases.cancel()

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func publisherOfPhasesNeverFailsAndEndsWithTheLastPhase() async throws {
    let fixture = try LoadingFixture { request in request.path == "/a.jpg" ? try .picture() : .status(.notFound) }
    for (target, end) in [("/a.jpg", "success"), ("/b.jpg", "failure: status")] {
      var names: [String] = []
      for try await phase in fixture.loader.phasePublisher(for: fixture.picture(target)).values {
        names.append(phase.name)
      }
      #expect(names.last == end)
    }
  }

  /// A subscriber that never asks for anything.
  private final class Idle<Input, Failure: Error>: Subscriber {
    func receive(subscription: any Subscription) {}
    func receive(_ input: Input) -> Subscribers.Demand { .none }
    func receive(completion: Subscribers.Completion<Failure>) {}
  }
}

@Suite("Row 48: no older picture over a newer one", .timeLimit(.minutes(5)))
struct ImageSlotTests {
  @Test func olderPictureNeverComesAfterANewerOne() async throws {
    let slow = Gate()
    let fixture = try LoadingFixture { request in
      request.path == "/slow" ? try .picture().held(by: slow) : try .picture("coffee.jpg")
    }
    // Another caller keeps the first load alive, so that it does end.
    let other = await fixture.begin(fixture.picture("/slow"))
    let slot = ImageSlot(loader: fixture.loader)
    let seen = Journal<Int>()
    let watching = Task {
      for await phase in slot.phases {
        if let width = phase.bitmap?.size.width { seen.append(width) }
      }
    }

    slot.show(fixture.picture("/slow"))
    slot.show(fixture.picture("/fast"))
    while slot.phase.image == nil { await Task.yield() }
    slow.open()
    _ = try await other.value

    #expect(slot.phase.bitmap?.size.width == 600)
    while seen.entries.isEmpty { await Task.yield() }
    watching.cancel()
    await watching.value
    #expect(seen.entries == [600])
  }

  @Test func showingAnotherPictureGivesTheLoadOfTheFirstUp() async throws {
    let fixture = try LoadingFixture { request in request.path == "/slow" ? .never : try .picture() }
    let slot = ImageSlot(loader: fixture.loader)
    slot.show(fixture.picture("/slow"))
    _ = try await fixture.server.request(1)

    slot.show(fixture.picture("/fast"))

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func samePictureIsNotLoadedAnewAndGoesOnUndisturbed() async throws {
    let fixture = try LoadingFixture { _ in .never }
    let slot = ImageSlot(loader: fixture.loader)

    for _ in 0..<3 { slot.show(fixture.picture()) }
    _ = try await fixture.server.request(1)

    #expect(fixture.loader.waiting(for: fixture.picture()) == 1)
    #expect(slot.phase.name == "loading")
  }

  @Test func failureIsTriedAgainWhenItIsShownAgain() async throws {
    let isThere = Atomic(false)
    let fixture = try LoadingFixture {
      $0.failureAge = .zero
    } respond: { _ in
      isThere.load(ordering: .relaxed) ? try .picture() : .status(.notFound)
    }
    let slot = ImageSlot(loader: fixture.loader)
    slot.show(fixture.picture())
    while slot.phase.error == nil { await Task.yield() }

    isThere.store(true, ordering: .relaxed)
    slot.show(fixture.picture())

    while slot.phase.image == nil { await Task.yield() }
    #expect(fixture.server.requests.count == 2)
  }

  @Test func pictureInMemoryIsThereWhenShowReturnsAndNothingIsEmpty() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    _ = try await fixture.loader.image(for: fixture.picture())
    let slot = ImageSlot(loader: fixture.loader)
    #expect(slot.phase.name == "empty")

    slot.show(fixture.picture())
    #expect(slot.phase.name == "success")

    slot.show(nil)
    #expect(slot.phase.name == "empty")
  }

  @Test func everyWatcherBeginsWithWhatIsSoNowAndEndsWithTheSlot() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    _ = try await fixture.loader.image(for: fixture.picture())
    var slot: ImageSlot? = ImageSlot(loader: fixture.loader)
    slot?.show(fixture.picture())
    let streams = [slot?.phases, slot?.phases].compactMap(\.self)
    let published = Journal<String>()
    let subscription = slot?.publisher.sink { published.append($0.name) }
    while published.entries.isEmpty { await Task.yield() }

    slot = nil

    for stream in streams {
      var names: [String] = []
      for await phase in stream { names.append(phase.name) }
      #expect(names == ["success"])
    }
    #expect(published.entries == ["success"])
    withExtendedLifetime(subscription) {}
  }

  @Test func slotThatGoesGivesItsLoadUp() async throws {
    let fixture = try LoadingFixture { _ in .never }
    var slot: ImageSlot? = ImageSlot(loader: fixture.loader)
    slot?.show(fixture.picture())
    _ = try await fixture.server.request(1)

    slot = nil

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test @MainActor func phasesAreReadOnTheActorOfWhoeverDraws() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    let slot = ImageSlot(loader: fixture.loader)
    let phases = slot.phases
    slot.show(fixture.picture())

    for await phase in phases {
      MainActor.assertIsolated()
      if phase.image != nil { break }
    }
    #expect(slot.phase.image != nil)
  }
}
