import Martlet
import MartletCombine
@testable import MartletImages
import MartletTesting
import Synchronization
import Testing

@Suite("Image slot", .timeLimit(.minutes(5)))
struct ImageSlotTests {
  @Test func olderImageNeverFollowsANewerOne() async throws {
    let slow = Gate()
    let fixture = try LoadingFixture { request in
      request.path == "/slow" ? try .picture().held(by: slow) : try .picture("coffee.jpg")
    }
    // another caller waits for the first load, so that it is not cancelled
    let other = fixture.begin(fixture.picture("/slow"))
    let slot = ImageSlot(loader: fixture.loader)
    let seen = Journal<Int>()
    let watching = Task {
      for await phase in slot.phases {
        if let width = phase.bitmap?.size.width { seen.append(width) }
      }
    }

    slot.show(fixture.picture("/slow"))
    slot.show(fixture.picture("/fast"))
    for await phase in slot.phases where phase.image != nil { break }
    slow.open()
    _ = try await other.value

    #expect(slot.phase.bitmap?.size.width == 600)
    try await seen.waitForEntries(1)
    watching.cancel()
    await watching.value
    // a part of the image may be shown before the whole
    #expect(seen.entries.allSatisfy { $0 == 600 })
  }

  @Test func showingAnotherImageCancelsTheFirstLoad() async throws {
    let fixture = try LoadingFixture { request in request.path == "/slow" ? .never : try .picture() }
    let slot = ImageSlot(loader: fixture.loader)
    slot.show(fixture.picture("/slow"))
    _ = try await fixture.server.request(1)

    slot.show(fixture.picture("/fast"))

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test func sameRequestContinuesItsLoad() async throws {
    let fixture = try LoadingFixture { _ in .never }
    let slot = ImageSlot(loader: fixture.loader)

    for _ in 0..<3 { slot.show(fixture.picture()) }
    _ = try await fixture.server.request(1)

    #expect(fixture.loader.waiterCount(for: fixture.picture()) == 1)
    #expect(slot.phase.name == "loading")
  }

  @Test func failedImageIsLoadedAgainWhenItIsShownAgain() async throws {
    let isThere = Atomic(false)
    let fixture = try LoadingFixture {
      $0.failureAge = .zero
    } respond: { _ in
      isThere.load(ordering: .relaxed) ? try .picture() : .status(.notFound)
    }
    let slot = ImageSlot(loader: fixture.loader)
    slot.show(fixture.picture())
    for await phase in slot.phases where phase.error != nil { break }

    isThere.store(true, ordering: .relaxed)
    slot.show(fixture.picture())

    for await phase in slot.phases where phase.image != nil { break }
    #expect(fixture.server.requests.count == 2)
  }

  @Test func imageInMemoryIsShownAtOnceAndNilIsEmpty() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    _ = try await fixture.loader.image(for: fixture.picture())
    let slot = ImageSlot(loader: fixture.loader)
    #expect(slot.phase.name == "empty")

    slot.show(fixture.picture())
    #expect(slot.phase.name == "success")

    slot.show(nil)
    #expect(slot.phase.name == "empty")
  }

  @Test func everyObserverBeginsWithTheCurrentPhaseAndEndsWithTheSlot() async throws {
    let fixture = try LoadingFixture { _ in try .picture() }
    _ = try await fixture.loader.image(for: fixture.picture())
    var slot: ImageSlot? = ImageSlot(loader: fixture.loader)
    slot?.show(fixture.picture())
    let streams = [slot?.phases, slot?.phases].compactMap(\.self)
    let published = Journal<String>()
    let subscription = slot?.publisher.sink { published.append($0.name) }
    try await published.waitForEntries(1)

    slot = nil

    for stream in streams {
      var names: [String] = []
      for await phase in stream { names.append(phase.name) }
      #expect(names == ["success"])
    }
    #expect(published.entries == ["success"])
    withExtendedLifetime(subscription) {}
  }

  @Test func releasedSlotCancelsItsLoad() async throws {
    let fixture = try LoadingFixture { _ in .never }
    var slot: ImageSlot? = ImageSlot(loader: fixture.loader)
    slot?.show(fixture.picture())
    _ = try await fixture.server.request(1)

    slot = nil

    #expect(try await fixture.server.end(ofConnection: 1) == .client)
  }

  @Test @MainActor func phasesCanBeReadOnTheMainActor() async throws {
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
