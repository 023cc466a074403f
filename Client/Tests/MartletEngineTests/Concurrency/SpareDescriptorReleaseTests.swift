#if os(Linux)
import Dispatch
import Synchronization
import Testing

@_spi(Toolkit) @_spi(Transports) @testable import MartletEngine

/// When transports have given up idle connections. `SpareDescriptors.release` is not called here: it would close
/// connections of other tests.
@Suite(.timeLimit(.minutes(1)))
struct SpareDescriptorReleaseTests {
  @Test func theReleaseIsCompleteWhenEachTransportHasDoneIt() async {
    let kept = Mutex<[SpareDescriptors.Done]>([])
    let keep: SpareDescriptors.GiveUp = { done in kept.withLock { $0.append(done) } }
    let group = SpareDescriptors.beginRelease(by: [keep, { _ in }, keep])
    #expect(kept.withLock(\.count) == 2)
    #expect(group.wait(timeout: .now()) == .timedOut)
    kept.withLock { _ = $0.removeLast() }
    #expect(group.wait(timeout: .now()) == .timedOut)
    kept.withLock { $0.removeAll() }
    #expect(group.wait(timeout: .now()) == .success)
  }

  @Test func aTransportThatEndsBeforeItsTurnIsNotWaitedFor() async {
    let queue = JobQueue<Int>(wakeUp: -1)
    let group = SpareDescriptors.beginRelease(by: [{ done in queue.submit { _ in withExtendedLifetime(done) {} } }])
    #expect(group.wait(timeout: .now()) == .timedOut)
    var jobs: [JobQueue<Int>.Job] = []
    queue.drain(into: &jobs)
    jobs = []  // never run
    #expect(group.wait(timeout: .now()) == .success)
  }
}
#endif
