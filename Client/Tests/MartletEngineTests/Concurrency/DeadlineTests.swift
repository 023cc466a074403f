import CallDoubles
import MartletSemantics
import MartletTesting
import Synchronization
import TestSupport
import Testing

@_spi(Toolkit) @testable import MartletEngine

@Suite(.timeLimit(.minutes(5)))
struct DeadlineTests {
  private let clock = ManualClock()

  @Test func workThatEndsInTimeReturnsItsResult() async throws {
    let deadline = Deadline(.seconds(10), on: clock)
    #expect(try await deadline.limiting { 1 } == 1)
    #expect(deadline.remaining == .seconds(10))
  }

  @Test func oneDeadlineEndsAllThatRunsUnderIt() async throws {
    let deadline = Deadline(.seconds(10), for: "the test", on: clock)
    let (begun, never) = ([Gate(), Gate()], Gate())
    let calls = begun.map { begun in
      Task {
        try await deadline.limiting {
          begun.open()
          await Task.detached { try? await never.wait() }.value  // ignores cancellation
        }
      }
    }
    for gate in begun { try await gate.wait() }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    for call in calls {
      let error = await #expect(throws: HTTPError.self) { try await call.value }
      #expect(error?.kind == .deadlineExceeded)
      #expect(error?.message == "the test took longer than its deadline of 10 s")
    }
    #expect(deadline.remaining == .zero)
    never.open()
  }

  @Test func afterTheDeadlineNoWorkBegins() async throws {
    let deadline = Deadline(.zero, on: clock)
    let error = await #expect(throws: HTTPError.self) {
      try await deadline.limiting { Issue.record("the work began") }
    }
    #expect(error?.kind == .deadlineExceeded)
  }

  @Test func aDeadlineEndsWorkAlthoughAnotherOneWasReleased() async throws {
    try await Deadline(.seconds(10), on: clock).limiting {}
    let other = Deadline(.seconds(5), on: clock)
    let never = Gate()
    let work = Task { try await other.limiting { try await never.wait() } }
    clock.advance(by: .seconds(5))
    await #expect(throws: HTTPError.self) { try await work.value }
  }

  /// Gives chunks on demand, and records how many were read.
  private final class CountedSource: BodySource {
    let reads = Mutex(0)
    let isDeaf: Bool
    let never = Gate()

    init(isDeaf: Bool = false) { self.isDeaf = isDeaf }

    func next() async throws -> Data? {
      if isDeaf { await Task.detached { [never] in try? await never.wait() }.value }
      let number = reads.withLock { reads in
        reads += 1
        return reads
      }
      return number > 3 ? nil : Data([UInt8(number)])
    }
  }

  @Test func aBodyIsReadOnDemandAndToItsEnd() async throws {
    let source = CountedSource()
    let body = DeadlineBody(source, until: Deadline(.seconds(10), on: clock), in: .current)

    #expect(try await body.next() == Data([1]))
    #expect(source.reads.withLock { $0 } == 1)
    #expect(try await body.next() == Data([2]))
    #expect(try await body.next() == Data([3]))
    #expect(try await body.next() == nil)
    #expect(try await body.next() == nil)
  }

  @Test func aBodyWhoseSourceIgnoresCancellationEndsAtTheDeadline() async throws {
    let source = CountedSource(isDeaf: true)
    let body = DeadlineBody(source, until: Deadline(.seconds(10), on: clock), in: .current)
    let read = Task { try await body.next() }
    try await clock.sleepers(1)
    clock.advance(by: .seconds(10))

    let error = await #expect(throws: HTTPError.self) { try await read.value }
    #expect(error?.kind == .deadlineExceeded)
    await #expect(throws: CancellationError.self) { try await body.next() }
    source.never.open()
  }

  /// A stopped clock that reports when a sleep was cancelled.
  private struct StoppedClock: Clock {
    let base = ManualClock()
    let cancelled = Gate()

    var now: ManualClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      do { try await base.sleep(until: deadline) } catch {
        cancelled.open()
        throw error
      }
    }
  }

  @Test func aResponseThatIsKeptAfterItsEndHasNoAlarm() async throws {
    var configuration = SessionConfiguration()
    let clock = StoppedClock()
    configuration.clock = clock
    let session = HTTPSession(transport: MockTransport { _ in .text("hello") }, configuration: configuration)
    var request = HTTPRequest(.get, origin)
    request.options.deadline = .seconds(10)

    let response = try await session.data(for: request).1

    try await clock.cancelled.wait()
    withExtendedLifetime(response) {}
  }

  @Test func aReaderThatIsCancelledReturnsAtOnce() async throws {
    let source = CountedSource(isDeaf: true)
    let body = DeadlineBody(source, until: Deadline(.seconds(10), on: clock), in: .current)
    let read = Task { try await body.next() }
    read.cancel()
    await #expect(throws: CancellationError.self) { try await read.value }
    source.never.open()
  }
}
