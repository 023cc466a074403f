import Martlet
@testable import MartletImages
import MartletTesting
import TestSupport
import Testing

@Suite("Images beside a server that is silent", .timeLimit(.minutes(5)))
struct DeadHostTests {
  /// Where a server falls silent: before its response, after the head, or within the body.
  static let silences: [@Sendable (Gate) throws -> Reply] = [
    { try .picture().held(by: $0) }, { try .picture().stalled(after: 0, until: $0) },
    { try .picture().stalled(after: 500, until: $0) },
  ]

  @Test(arguments: silences.indices, [1, 6])
  func imagesOfAnotherHostAreServedWhileOneIsSilent(silence: Int, places: Int) async throws {
    let (gate, ended) = (Gate(), Counter())
    let dead = try LoopbackServer { _ in try Self.silences[silence](gate) }
    let fixture = try LoadingFixture {
      $0.concurrentLoads = places
    } respond: { _ in
      try .picture()
    }
    let silent = (1...6).map { number in
      Task {
        defer { _ = ended.next() }
        return try await fixture.loader.image(for: dead.url("/\(number)"))
      }
    }
    _ = try await dead.request(places)

    for number in 1...20 {
      let image = try await fixture.loader.image(for: fixture.picture("/\(number)"))
      #expect(image.bitmap.size.width == 40)
    }

    #expect(ended.value == 0)
    #expect(dead.requests.count == places)
    gate.open()
    for task in silent { #expect(try await task.value.bitmap.size.width == 40) }
  }

  @Test func loadsOfLowPriorityLeaveAPlaceOfTheirHostToOthers() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { request in
      request.path == "/high" ? try .picture() : try .picture().held(by: gate)
    }
    let low = (1...9).map { fixture.begin(fixture.picture("/\($0)").priority(.low)) }
    _ = try await fixture.server.request(5)

    _ = try await fixture.loader.image(for: fixture.picture("/high").priority(.high))

    #expect(fixture.server.requests.count == 6)
    #expect(fixture.loader.queueLengths.loads == 4)
    gate.open()
    for task in low { _ = try await task.value }
  }

  @Test func waitingLoadWhosePriorityIsRaisedTakesTheKeptPlace() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture { request in
      request.path == "/6" || request.path == "/7" ? try .picture() : try .picture().held(by: gate)
    }
    let low = (1...7).map { fixture.begin(fixture.picture("/\($0)").priority(.low)) }
    _ = try await fixture.server.request(5)

    fixture.loader.setPriority(.normal, for: fixture.picture("/6"))
    _ = try await low[5].value
    _ = try await fixture.loader.image(for: fixture.picture("/7"))

    #expect(fixture.server.requests.count == 7)
    gate.open()
    for task in low { _ = try await task.value }
  }

  @Test func aHostHasItsOwnNumberOfPlaces() async throws {
    let gate = Gate()
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 8
      $0.concurrentLoadsPerOrigin = 2
    } respond: { _ in
      try .picture().held(by: gate)
    }
    let other = try LoopbackServer { _ in try .picture() }
    let loads = (1...5).map { fixture.begin(fixture.picture("/\($0)")) }
    _ = try await fixture.server.request(2)

    for number in 1...5 { _ = try await fixture.loader.image(for: other.url("/\(number)")) }

    #expect(fixture.server.requests.count == 2)
    gate.open()
    for load in loads { _ = try await load.value }
    #expect(fixture.server.requests.count == 5)
  }

  @Test func cancelledLoadOfASilentHostGivesItsPlaceBack() async throws {
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 1
    } respond: { request in
      request.path == "/dead" ? .never : try .picture()
    }
    let dead = fixture.begin(fixture.picture("/dead"))
    _ = try await fixture.server.request(1)
    let next = fixture.begin(fixture.picture("/next"))
    try await until { fixture.loader.queueLengths.loads == 1 }

    dead.cancel()

    _ = try await next.value
  }
}
