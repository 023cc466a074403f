/// Clients side by side: in every round each does each workload once, so that what else happens on the machine strikes
/// all of them alike.
struct Comparison {
  let clients: [any Client]
  let server: RunningServer
  let rounds: Int
  /// A part of the workloads' number of requests.
  let scale: Double

  /// What was measured of one workload: for each client its rate in each round.
  struct Row {
    let workload: Workload
    var rates: [[Double]]

    /// How much longer a client takes than the first: the median of the rounds' ratios, which is steadier than the
    /// ratio of the medians.
    func timeRelativeToFirst(of client: Int) -> Double? {
      zip(rates[0], rates[client]).map { $0 / $1 }.median
    }
  }

  func run(_ workloads: [Workload], progress: (String) -> Void) async throws -> [Row] {
    var rows = workloads.map { Row(workload: $0, rates: clients.map { _ in [] }) }
    for workload in workloads {
      progress("warming up: \(workload.name)")
      for client in clients { _ = try await workload.measure(client, at: server, scale: scale / 8) }
    }
    for round in 0..<rounds {
      progress("round \(round + 1) of \(rounds)")
      for row in rows.indices {
        for turn in clients.indices {
          let index = (turn + round) % clients.count  // nobody always follows the same one
          let rate = try await rows[row].workload.measure(clients[index], at: server, scale: scale)
          if let rate { rows[row].rates[index].append(rate) }
        }
      }
    }
    return rows
  }
}
