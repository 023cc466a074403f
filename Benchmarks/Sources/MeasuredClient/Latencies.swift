import Foundation
import Synchronization

extension Client {
  /// Begins a request when another ends, or when requests arrive.
  public func latencies(_ assignment: Assignment) async throws -> [Double] {
    let list = LatencyList()
    let url = assignment.url
    if assignment.interval == 0 {
      _ = try await spread(assignment.times, over: assignment.atOnce) {
        try await measure(url, since: .now, in: list)
        return 0
      }
    } else {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for await due in Self.instants(assignment.arrivals) {
          group.addTask { try await measure(url, since: due, in: list) }
        }
        try await group.waitForAll()
      }
    }
    return list.values.withLock { $0 }
  }

  private func measure(_ url: URL, since start: ContinuousClock.Instant, in list: LatencyList) async throws {
    _ = try await fetch(url, times: 1, atOnce: 1)
    let latency = (ContinuousClock.now - start) / .microseconds(1)
    list.values.withLock { $0.append(latency) }
  }

  /// The instants at which requests are due, each when it has come. A thread keeps the time, which is more exact than a
  /// task's sleep.
  private static func instants(_ arrivals: [Int64]) -> AsyncStream<ContinuousClock.Instant> {
    AsyncStream { stream in
      Thread.detachNewThread {
        let first = ContinuousClock.now
        for arrival in arrivals {
          let due = first + .nanoseconds(arrival)
          let rest = (due - .now) / .microseconds(1)
          if rest > 0 { usleep(UInt32(rest)) }
          stream.yield(due)
        }
        stream.finish()
      }
    }
  }
}

private final class LatencyList: Sendable {
  let values = Mutex<[Double]>([])
}

extension AssignmentResult {
  /// Keeps the quantiles of the latencies.
  mutating func take(_ latencies: [Double]) {
    let sorted = latencies.sorted()
    guard let last = sorted.indices.last else { return }
    self.latencies = Self.quantiles.map { sorted[min(last, Int($0 * Double(sorted.count)))] }
  }
}
