import Dispatch
import Martlet
@testable import MartletImages
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("Limits and priorities of loads", .timeLimit(.minutes(5)))
struct LoadPlacesTests {
  /// Starts loads that wait for the only place, in this order.
  private func queue(
    _ fixture: LoadingFixture, _ requests: [ImageRequest]
  ) async throws -> [Task<LoadedImage, any Error>] {
    var tasks = [fixture.begin(fixture.picture("/first"))]
    _ = try await fixture.server.request(1)
    for (index, request) in requests.enumerated() {
      tasks.append(fixture.begin(request))
      try await until { fixture.loader.queueLengths.loads >= index + 1 }
    }
    return tasks
  }

  private func fixture(holdingFirst gate: Gate) throws -> LoadingFixture {
    try LoadingFixture {
      $0.concurrentLoads = 1
    } respond: { request in
      request.path == "/first" ? try .picture().held(by: gate) : try .picture()
    }
  }

  @Test func loadsRunByPriorityAndThenInTheirOrder() async throws {
    let gate = Gate()
    let fixture = try fixture(holdingFirst: gate)
    let tasks = try await queue(
      fixture,
      [
        fixture.picture("/low").priority(.low), fixture.picture("/a"), fixture.picture("/high").priority(.high),
        fixture.picture("/b"),
      ])

    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(fixture.server.requests.map(\.path) == ["/first", "/high", "/a", "/b", "/low"])
  }

  @Test func callerWithAHigherPriorityRaisesThatOfItsLoad() async throws {
    let gate = Gate()
    let fixture = try fixture(holdingFirst: gate)
    let low = fixture.picture("/low").priority(.low)
    var tasks = try await queue(fixture, [fixture.picture("/a"), low, fixture.picture("/b")])
    tasks.append(fixture.begin(low.priority(.high)))

    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(fixture.server.requests.map(\.path) == ["/first", "/low", "/a", "/b"])
  }

  @Test func cancelledCallerNoLongerCountsForThePriority() async throws {
    let gate = Gate()
    let fixture = try fixture(holdingFirst: gate)
    let low = fixture.picture("/low").priority(.low)
    let tasks = try await queue(fixture, [fixture.picture("/a"), low])
    let impatient = fixture.begin(low.priority(.high))
    impatient.cancel()
    _ = try? await impatient.value

    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(fixture.server.requests.map(\.path) == ["/first", "/a", "/low"])
  }

  @Test func priorityCanBeSetLater() async throws {
    let gate = Gate()
    let fixture = try fixture(holdingFirst: gate)
    let tasks = try await queue(fixture, [fixture.picture("/a"), fixture.picture("/b")])

    fixture.loader.setPriority(.high, for: fixture.picture("/b"))
    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(fixture.server.requests.map(\.path) == ["/first", "/b", "/a"])
  }

  @Test func cancelledQueuedLoadIsNotSent() async throws {
    let gate = Gate()
    let fixture = try fixture(holdingFirst: gate)
    let tasks = try await queue(fixture, [fixture.picture("/a"), fixture.picture("/b")])

    tasks[1].cancel()
    _ = try? await tasks[1].value
    try await until { fixture.loader.queueLengths.loads <= 1 }
    gate.open()

    _ = try await tasks[2].value
    #expect(fixture.server.requests.map(\.path) == ["/first", "/b"])
  }

  @Test func concurrentDownloadsAreLimited() async throws {
    let gate = Gate()
    let active = Mutex((now: 0, most: 0))
    let fixture = try LoadingFixture {
      $0.concurrentLoads = 3
    } respond: { request in
      active.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      try request.wait(for: gate)
      active.withLock { $0.now -= 1 }
      return try .picture()
    }
    var tasks: [Task<LoadedImage, any Error>] = []
    for number in 0..<10 { tasks.append(fixture.begin(fixture.picture("/\(number)"))) }
    try await until { fixture.loader.queueLengths.loads >= 7 && active.withLock({ $0.now }) >= 3 }

    gate.open()

    for task in tasks { _ = try await task.value }
    #expect(active.withLock { $0.most } == 3)
  }

  @Test func concurrentDecodingsAreLimitedAndDoNotBlockTasks() async throws {
    let worker = Blocker()
    let fixture = try LoadingFixture {
      $0.concurrentDecodes = 4
    } respond: { _ in
      try .picture()
    }
    var tasks: [Task<LoadedImage, any Error>] = []
    for number in 0..<6 {
      var request = fixture.picture("/\(number)")
      request.processors = [worker]
      tasks.append(fixture.begin(request))
    }

    // more threads are blocked than are available for tasks, but this task continues
    try await until { fixture.loader.queueLengths.decodes >= 2 && worker.active.withLock({ $0.now }) >= 4 }
    for _ in 0..<6 { worker.released.signal() }

    for task in tasks { _ = try await task.value }
    #expect(worker.active.withLock { $0.most } == 4)
  }

  /// Blocks its thread until it is released.
  private final class Blocker: ImageProcessor {
    let identifier = "blocker"
    let active = Mutex((now: 0, most: 0))
    let released = DispatchSemaphore(value: 0)

    func process(_ image: Bitmap) -> Bitmap {
      active.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      released.wait()
      active.withLock { $0.now -= 1 }
      return image
    }
  }
}
