import Foundation
import MartletCombine
import MartletCombineFoundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RunLoopTests {
  @Test func timesDifferByWhatTheyWereAdvanced() {
    let now = RunLoop.main.now
    #expect(now.distance(to: now.advanced(by: .seconds(3))) == .seconds(3))
    #expect(now.advanced(by: .seconds(-1)) < now)
    #expect(RunLoop.SchedulerTimeType.Stride.milliseconds(250) == RunLoop.SchedulerTimeType.Stride(0.25))
  }

  @Test func theMainRunLoopRunsWorkWithoutBeingRun() async {
    let runs = Log<String>()
    await withCheckedContinuation { done in
      RunLoop.main.schedule { runs.append("now") }
      RunLoop.main.schedule(after: RunLoop.main.now.advanced(by: .milliseconds(1))) {
        runs.append("later")
        done.resume()
      }
    }
    #expect(runs.entries == ["now", "later"])
  }

  @Test func aSleepingRunLoopWakesUpForWork() async throws {
    let loop = LoopThread()
    defer { loop.end() }

    for _ in 0..<20 {
      let isThere = await withCheckedContinuation { answer in
        loop.runLoop.schedule { answer.resume(returning: LoopThread.isCurrent) }
      }
      #expect(isThere)
    }
    await withCheckedContinuation { done in
      loop.runLoop.schedule(after: loop.runLoop.now.advanced(by: .milliseconds(1))) { done.resume() }
    }
    await runsAgainUntilCancelled(loop.runLoop)
  }

  @Test func aRunLoopKeepsTheOrderOfItsWork() async {
    let loop = LoopThread()
    defer { loop.end() }
    let kept = Log<AnyCancellable>()
    let values = await withCheckedContinuation { (done: CheckedContinuation<[Int], Never>) in
      kept.append(
        (0..<500).publisher.receive(on: loop.runLoop).collect().sink { values in done.resume(returning: values) })
    }
    #expect(values == Array(0..<500))
  }

  /// - Parameter scheduler: one that runs its work serially.
  private func runsAgainUntilCancelled(_ scheduler: some Scheduler) async {
    let runs = Counter()
    let (third, report) = AsyncStream.makeStream(of: Void.self)
    let repetition = scheduler.schedule(after: scheduler.now, interval: .milliseconds(1)) {
      if runs.next() == 3 { report.finish() }
    }
    for await _ in third {}

    let (count, later) = await withCheckedContinuation { (done: CheckedContinuation<(Int, Int), Never>) in
      // On the scheduler, so that no run is under way.
      scheduler.schedule {
        repetition.cancel()
        let count = runs.value
        scheduler.schedule(after: scheduler.now.advanced(by: .milliseconds(20))) {
          done.resume(returning: (count, runs.value))
        }
      }
    }

    #expect(count >= 3 && later == count)
  }
}

/// A thread that runs its run loop.
final class LoopThread: @unchecked Sendable {
  // SAFETY: the loop only receives work, which any thread may submit.
  let runLoop: RunLoop

  init() {
    let found = Log<RunLoop>()
    let isReady = DispatchSemaphore(value: 0)
    let thread = Thread {
      Thread.current.threadDictionary["loop"] = true
      found.append(.current)
      // A run loop without sources ends immediately.
      RunLoop.current.add(Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }, forMode: .default)
      isReady.signal()
      while LoopThread.isCurrent { _ = RunLoop.current.run(mode: .default, before: .distantFuture) }
    }
    thread.start()
    isReady.wait()
    runLoop = found.entries[0]
  }

  static var isCurrent: Bool { Thread.current.threadDictionary["loop"] != nil }

  func end() { runLoop.schedule { Thread.current.threadDictionary.removeObject(forKey: "loop") } }
}
