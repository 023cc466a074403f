import Dispatch
import MartletCombine
import Testing

/// The largest numbers and the longest and shortest times, which are legal, stop nothing.
@Suite(.timeLimit(.minutes(5)))
struct ExtremeNumberTests {
  private typealias Stride = DispatchQueue.SchedulerTimeType.Stride

  /// Sends two values and the end, and returns what arrives.
  private func values<P: Publisher>(_ make: (PassthroughSubject<Int, Never>) -> P) -> [P.Output] {
    let source = PassthroughSubject<Int, Never>()
    var values: [P.Output] = []
    let subscription = make(source).sink(receiveCompletion: { _ in }, receiveValue: { values.append($0) })
    source.send(1)
    source.send(2)
    source.send(completion: .finished)
    subscription.cancel()
    return values
  }

  @Test func largestNumberIsLegal() {
    #expect(values { $0.prefix(.max) } == [1, 2])
    #expect(values { $0.dropFirst(.max) } == [])
    #expect(values { $0.output(at: .max) } == [])
    #expect(values { $0.output(in: 1...) } == [2])
    #expect(values { $0.output(in: 0..<Int.max) } == [1, 2])
    #expect(values { $0.retry(.max) } == [1, 2])
    #expect(values { $0.collect(.max) } == [[1, 2]])
    #expect(values { $0.buffer(size: .max, prefetch: .byRequest, whenFull: .dropNewest) } == [1, 2])
    #expect(values { $0.buffer(size: .max, prefetch: .keepFull, whenFull: .dropNewest) } == [1, 2])
    #expect(values { $0.flatMap(maxPublishers: .max(.max)) { Just($0) } } == [1, 2])
    #expect(values { _ in [1, 2].publisher.dropFirst(.max) } == [])
    #expect(values { _ in [1, 2].publisher.prefix(.max) } == [1, 2])
    #expect(values { _ in Just(1).output(at: .max) } == [])
    #expect(values { _ in [1, 2].publisher.output(at: .max) } == [])
  }

  @Test(arguments: [Int.max, .min, 0, -1])
  func extremeTimeIsLegal(_ seconds: Int) {
    let queue = DispatchQueue(label: "times")
    let times: [Stride] = [.seconds(seconds), .milliseconds(seconds), .microseconds(seconds), .nanoseconds(seconds)]
    for time in times + [.seconds(Double.infinity), .seconds(-Double.infinity), .seconds(Double.nan)] {
      _ = values { $0.delay(for: time, scheduler: queue) }
      _ = values { $0.delay(for: 1, tolerance: time, scheduler: queue) }
      _ = values { $0.debounce(for: time, scheduler: queue) }
      _ = values { $0.throttle(for: time, scheduler: queue, latest: true) }
      _ = values { $0.timeout(time, scheduler: queue) }
      _ = values { $0.collect(.byTimeOrCount(queue, time, .max)) }
    }
    queue.sync {}
  }
}
