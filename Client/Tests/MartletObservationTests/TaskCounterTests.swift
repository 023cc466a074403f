import MartletEngine
@testable import MartletObservation
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@Suite("TaskCounter", .timeLimit(.minutes(5)))
struct TaskCounterTests {
  private func session(_ counter: TaskCounter, _ transport: any Transport) -> HTTPSession {
    var configuration = SessionConfiguration()
    configuration.listeners = [counter]
    return HTTPSession(transport: transport, configuration: configuration)
  }

  /// The reported counts, without repetitions.
  private final class Told: Sendable {
    private let values = Mutex<[Int]>([])
    var counts: [Int] { values.withLock { $0 } }

    init(_ counter: TaskCounter) {
      counter.onChange { running, _ in self.values.withLock { if $0.last != running { $0.append(running) } } }
    }
  }

  @Test func redirectsCountOnce() async throws {
    let counter = TaskCounter()
    let told = Told(counter)
    let transport = ScriptedTransport(.redirect(to: "/1"), .redirect(to: "/2"), .text("there"))

    _ = try await session(counter, transport).data(for: HTTPRequest(.get, origin))

    #expect(told.counts == [0, 1, 0])
  }

  @Test func failuresAndRefusalsCountDownAgain() async {
    let counter = TaskCounter()
    let told = Told(counter)
    let session = session(counter, ScriptedTransport(.failure(HTTPError(.connectionLost, "gone"))))

    _ = try? await session.data(for: HTTPRequest(.get, origin))
    _ = try? await session.data(for: HTTPRequest(.get, url("ftp://a.example/")))

    #expect(told.counts == [0, 1, 0, 1, 0])
  }

  @Test func aCallRunsUntilItsBodyIsRead() async throws {
    let counter = TaskCounter()
    let session = session(counter, MockTransport { _ in .text("hello") })

    let (body, _) = try await session.bytes(for: HTTPRequest(.get, origin))
    #expect(counter.running == 1 && counter.isActive)
    for try await _ in body {}

    #expect(counter.running == 0 && !counter.isActive)
  }

  @Test func anAbandonedBodyCountsDownAgain() async throws {
    let counter = TaskCounter()
    let session = session(counter, MockTransport { _ in .text("hello") })

    _ = try await session.bytes(for: HTTPRequest(.get, origin))

    #expect(counter.running == 0)
  }

  @Test func aCancelledCallCountsDownAgain() async throws {
    let counter = TaskCounter()
    let asked = Gate(), never = Gate()
    let session = session(
      counter,
      MockTransport { _ in
        asked.open()
        try await never.wait()
        return .text("")
      })
    let task = Task { _ = try await session.data(for: HTTPRequest(.get, origin)) }
    try await asked.wait()
    #expect(counter.running == 1)

    task.cancel()
    _ = await task.result

    #expect(counter.running == 0)
  }

  @Test func aListenerThatIsRegisteredTwiceCountsOnce() async throws {
    let counter = TaskCounter()
    var request = HTTPRequest(.get, origin)
    request.options.listeners = [counter]

    let (body, _) = try await session(counter, MockTransport { _ in .text("hello") }).bytes(for: request)

    #expect(counter.running == 1)
    body.cancel()
    #expect(counter.running == 0)
  }

  @Test func aStreamBeginsWithTheCurrentValueAndEndsWithTheCounter() async throws {
    var counter: TaskCounter? = TaskCounter()
    let streams = try #require(counter.map { ($0.counts, $0.activity) })
    var counts = streams.0.makeAsyncIterator(), activity = streams.1.makeAsyncIterator()
    #expect(await counts.next() == 0)
    #expect(await activity.next() == false)
    let call = Call()

    counter?.receive(.started(HTTPRequest(.get, origin)), in: call)
    #expect(await counts.next() == 1)
    #expect(await activity.next() == true)
    counter?.receive(.finished(nil), in: call)
    #expect(await counts.next() == 0)
    #expect(await activity.next() == false)
    counter = nil

    #expect(await counts.next() == nil)
    #expect(await activity.next() == nil)
  }

  @Test func itShowsAndHidesAfterAWhile() async throws {
    let clock = ManualClock()
    let counter = TaskCounter(showsAfter: .milliseconds(200), hidesAfter: .milliseconds(500), clock: clock)
    var activity = counter.activity.makeAsyncIterator()
    #expect(await activity.next() == false)
    let call = Call()

    counter.receive(.started(HTTPRequest(.get, origin)), in: call)
    #expect(counter.running == 1 && !counter.isActive)
    try await clock.sleepers(1)
    clock.advance(by: .milliseconds(200))
    #expect(await activity.next() == true)

    counter.receive(.finished(nil), in: call)
    #expect(counter.running == 0 && counter.isActive)
    try await clock.sleepers(1)
    clock.advance(by: .milliseconds(500))
    #expect(await activity.next() == false)
  }

  @Test func manyAtOnceEndAtZero() async throws {
    let counter = TaskCounter()
    let told = Told(counter)
    let session = session(counter, MockTransport { _ in .text("hello") })

    await withTaskGroup { group in
      for _ in 0..<100 { group.addTask { _ = try? await session.data(for: HTTPRequest(.get, origin)) } }
    }

    #expect(counter.running == 0)
    #expect(told.counts.last == 0)
  }

  @Suite("ActivityState")
  struct ActivityStateTests {
    typealias Wait = ActivityState.Wait

    @Test func aShortTaskIsNeverShown() {
      var state = ActivityState(showsAfter: .seconds(1), hidesAfter: .seconds(2))
      #expect(state.started(1) == Wait(delay: .seconds(1), generation: 1))
      #expect(state.started(2) == nil)
      #expect(state.finished(1) == nil)
      #expect(state.finished(2) == nil)
      state.waited(1)
      #expect(!state.isActive)
    }

    @Test func aTaskThatFollowsSoonKeepsTheIndicatorVisible() {
      var state = ActivityState(showsAfter: .zero, hidesAfter: .seconds(2))
      #expect(state.started(1) == nil && state.isActive)
      let wait = state.finished(1)
      #expect(wait == Wait(delay: .seconds(2), generation: 2))
      #expect(state.started(2) == nil)
      state.waited(2)
      #expect(state.isActive)
    }

    @Test func aTaskThatDidNotStartCannotEnd() {
      var state = ActivityState(showsAfter: .zero, hidesAfter: .zero)
      #expect(state.finished(1) == nil)
      #expect(state.count == 0)
    }
  }
}
