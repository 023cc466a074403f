import Foundation
import Martlet
import MartletTesting
import Synchronization

/// The effect of second requests on the slowest answers, and the load that they add. One answer in twenty of the server
/// takes ten times as long.
enum HedgingCost {
  private static let usual = Duration.milliseconds(10)
  private static let straggling = Duration.milliseconds(100)

  private struct Run {
    /// In milliseconds, in order.
    let latencies: [Double]
    /// The requests that the server got for one of the caller's.
    let load: Double

    func quantile(_ share: Double) -> Double {
      latencies.isEmpty ? .nan : latencies[min(latencies.count - 1, Int(share * Double(latencies.count)))]
    }
  }

  static func table(scale: Double, rounds: Int) async throws -> ResultTable {
    var table = ResultTable(
      key: "hedging",
      title: "**Second requests** (`Hedging`), 5 % of the answers take 100 ms in place of 10: median (least–most)",
      columns: ["session", "p50, ms", "p99, ms", "requests sent for one"], digits: 2)
    for (name, hedging) in [("without", nil), ("with", Hedging())] {
      var runs: [Run] = []
      for _ in 0..<rounds { runs.append(try await run(hedging, requests: max(1000, Int(8000 * scale)))) }
      table.add(
        name, [Figure(runs.map { $0.quantile(0.5) }), Figure(runs.map { $0.quantile(0.99) }), Figure(runs.map(\.load))])
    }
    return table
  }

  private static func run(_ hedging: Hedging?, requests: Int) async throws -> Run {
    let received = Atomic(0)
    let server = try LoopbackServer(recording: .nothing) { _ in
      received.add(1, ordering: .relaxed)
      return .text("ok").delayed(by: Int.random(in: 0..<20) == 0 ? straggling : usual)
    }
    var configuration = SessionConfiguration()
    configuration.cache = nil
    configuration.limits.hedging = hedging
    let session = HTTPSession(configuration: configuration)
    let callers = 16
    let latencies = try await withThrowingTaskGroup(of: [Double].self) { group in
      for _ in 0..<callers {
        group.addTask {
          var latencies: [Double] = []
          for _ in 0..<(requests / callers) {
            let start = ContinuousClock.now
            _ = try await session.data(for: HTTPRequest(.get, server.url))
            latencies.append((ContinuousClock.now - start) / .milliseconds(1))
          }
          return latencies
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    return Run(
      latencies: latencies.sorted(), load: Double(received.load(ordering: .relaxed)) / Double(max(1, latencies.count)))
  }
}
