import MeasuredClient

/// The time of a request: with callers that each send one after another, and with requests that arrive at random
/// moments, whether others have ended or not. The latter count from the time at which they were due, so that a client
/// that falls behind does not hide it (coordinated omission).
enum LatencyCost {
  /// The clients that can be measured.
  static let clients: Set = [
    "libcurl", "martlet-bare-sockets", "martlet-default-sockets", "async-http-client-1", "async-http-client-2",
  ]
  private static let callers = [1, 64, 512, 4096]
  private static let rates = [2_000, 8_000, 16_000]
  /// The maximum number of connections of the requests that arrive at random.
  private static let openConnections = 512
  private static let quantiles = ["p50", "p90", "p99", "longest"]

  static func tables(
    _ programs: [ClientProgram], at server: RunningServer, rounds: Int, _ progress: (String) -> Void
  ) throws -> [ResultTable] {
    let closed = callers.map { count in
      let name = count == 1 ? "1 caller" : "\(count) callers"
      return (name: name, callers: count, interval: Int64(0), times: max(4000, count * 4))
    }
    let open = rates.map { rate in
      (name: "\(rate) arrivals a second", callers: 4096, interval: Int64(1_000_000_000 / rate), times: rate)
    }
    return try (closed + open).map { form in
      var table = ResultTable(
        key: "latency, \(form.name)",
        title: "**Time of a request** of 1 KiB, \(form.name), in microseconds: median (least–most) of the rounds",
        columns: ["client"] + quantiles)
      var assignment = Workload.latency(callers: form.callers).assignment(at: server, times: form.times)
      assignment.interval = form.interval
      for program in programs {
        progress("latency: \(form.name), \(program.title)")
        let connections = form.interval > 0 ? openConnections : max(64, form.callers)
        guard let runner = try? program.start(at: server, connections: connections) else { continue }
        defer { runner.stop() }
        _ = try runner.measure(assignment)
        let results = try (0..<rounds).compactMap { _ in try runner.measure(assignment).latencies }
        table.add(program.title, quantiles.indices.map { index in Figure(results.map { $0[index] }) })
      }
      return table
    }
  }
}
