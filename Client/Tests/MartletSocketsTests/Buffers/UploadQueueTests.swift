#if os(Linux)
import Foundation
import MartletTesting
import TestSupport
import Testing

@testable import MartletSockets

/// The queue of a request's body.
@Suite(.timeLimit(.minutes(5)))
struct UploadQueueTests {
  private func next(_ queue: UploadQueue) -> String {
    switch queue.next() {
    case .chunk(let data): String(decoding: data.prefix(10), as: UTF8.self)
    case .nothingYet: "nothing yet"
    case .end: "end"
    }
  }

  @Test func chunksAreTakenInTheirOrderAndThenTheEnd() async {
    let queue = UploadQueue(waitsForDemand: false)
    for text in ["a", "b", "c"] { #expect(await queue.push(Data(text.utf8)) {}) }
    _ = queue.end()
    #expect((0..<5).map { _ in next(queue) } == ["a", "b", "c", "end", "end"])
  }

  @Test func theOrderIsKeptWhileTheQueueIsNeverEmpty() async {
    let queue = UploadQueue(waitsForDemand: false)
    _ = await queue.push(Data("0".utf8)) {}
    for number in 1..<1000 {
      _ = await queue.push(Data("\(number)".utf8)) {}
      #expect(next(queue) == "\(number - 1)")
    }
    _ = queue.end()
    #expect([next(queue), next(queue)] == ["999", "end"])
  }

  @Test func theLoopIsWokenOnceIfItFoundNothing() async {
    let queue = UploadQueue(waitsForDemand: false)
    let wakeUps = Counter()
    _ = await queue.push(Data("a".utf8)) { wakeUps.next() }
    #expect(wakeUps.value == 0)
    #expect([next(queue), next(queue)] == ["a", "nothing yet"])

    for text in ["b", "c"] { _ = await queue.push(Data(text.utf8)) { wakeUps.next() } }

    #expect(wakeUps.value == 1)
    #expect(!queue.end())
    #expect([next(queue), next(queue), next(queue)] == ["b", "c", "end"])
  }

  @Test func theEndWakesALoopThatFoundNothing() {
    let queue = UploadQueue(waitsForDemand: false)
    #expect(next(queue) == "nothing yet")
    #expect(queue.end())
  }

  @Test func aFastProducerWaits() async throws {
    let queue = UploadQueue(waitsForDemand: false)
    let pushed = Counter()
    let producer = Task {
      for _ in 0..<20 {
        guard await queue.push(Data(count: 100 << 10), wake: {}) else { return }
        pushed.next()
      }
      _ = queue.end()
    }
    var taken = 0
    while true {
      switch queue.next() {
      case .chunk:
        taken += 1
        // 512 KiB may wait, and the chunk for which the producer waits
        #expect(pushed.value <= taken + 6)
      case .nothingYet: await Task.yield()  // the producer goes on
      case .end:
        await producer.value
        #expect(taken == 20)
        return
      }
    }
  }

  @Test func aBodyIsOpenedWhenItIsWanted() async {
    let queue = UploadQueue(waitsForDemand: true)
    let demand = Task { await queue.demand() }
    #expect(next(queue) == "nothing yet")
    #expect(await demand.value)
  }

  @Test func afterTheQueueIsClosedNothingIsWanted() async {
    let queue = UploadQueue(waitsForDemand: true)
    let demand = Task { await queue.demand() }
    queue.close()
    #expect(await !demand.value)
    #expect(await !queue.push(Data("a".utf8)) {})
    #expect(next(queue) == "nothing yet")
  }

  /// With an end, a body that was given up would look complete to the server.
  @Test(arguments: [false, true]) func aClosedQueueHasNoEnd(hadEnded: Bool) async {
    let queue = UploadQueue(waitsForDemand: false)
    #expect(await queue.push(Data("a".utf8)) {})
    if hadEnded { _ = queue.end() }
    queue.close()
    #expect(next(queue) == "nothing yet")
    if !hadEnded { _ = queue.end() }
    #expect(next(queue) == "nothing yet")
  }
}
#endif
