import Foundation

/// The maximum costs of a request, in `Benchmarks/budget.json`: workload → client → cost. The figures may only fall.
struct Budget: Codable, Equatable {
  var costs: [String: [String: RequestCost]]

  /// The change of the file.
  enum Change {
    case none, lower, replace
  }

  /// The workloads that have a budget, and the names of their clients.
  static let counted: KeyValuePairs<String, [(name: String, client: OwnClient)]> = [
    "small": sessions, "small64": sessions + [("sapfoundation", .sapFoundation)], "gzip16": sessions,
    "tls64-http1": sessions, "echo16": [sessions[0]],
  ]
  private static let sessions: [(name: String, client: OwnClient)] = [
    ("bare", .martlet(.bare, .socketsWithLongestWait)), ("default", .martlet(.default, .socketsWithLongestWait)),
  ]

  static let file = URL(filePath: #filePath).appending(path: "../../../../budget.json").standardized

  /// The counted values, and by how much they may exceed the budget before that is an error. The number of system calls
  /// depends a little on how fast the server answers. That of `futex` calls depends on it more than a little, so they
  /// are only shown.
  private static var limits: [(name: String, key: WritableKeyPath<RequestCost, Double>, tolerance: Double)] {
    [
      ("instructions", \.instructions, 0.03), ("allocations", \.allocations, 0.03),
      ("system calls", \.systemCalls, 0.10),
    ]
  }

  /// A sentence for each figure that exceeds the budget or has none.
  func violations(of measured: Budget) -> [String] {
    measured.entries.flatMap { workload, client, cost -> [String] in
      guard let allowed = costs[workload]?[client] else {
        return ["\(workload), \(client): has no budget; add it with: make bench ARGS=\"--budget --write\""]
      }
      return Self.limits.compactMap { name, key, tolerance in
        let (figure, limit) = (cost[keyPath: key], allowed[keyPath: key])
        guard figure > limit * (1 + tolerance) else { return nil }
        return "\(workload), \(client): \(Self.text(figure)) \(name) a request, \(Self.percent(figure, limit)) above "
          + "the budget of \(Self.text(limit)); \(Self.text(tolerance * 100)) % are tolerated"
      }
    }
  }

  /// The budget with each figure that was measured to be lower, and with figures that were missing in it.
  func lowered(to measured: Budget) -> Budget {
    var result = self
    for (workload, client, cost) in measured.entries {
      guard var entry = costs[workload]?[client] else {
        result.costs[workload, default: [:]][client] = cost
        continue
      }
      for key in Self.limits.map(\.key) + [\.retains, \.futexCalls] {
        entry[keyPath: key] = min(entry[keyPath: key], cost[keyPath: key])
      }
      result.costs[workload]?[client] = entry
    }
    return result
  }

  private var entries: [(workload: String, client: String, cost: RequestCost)] {
    costs.keys.sorted().flatMap { workload in
      (costs[workload] ?? [:]).sorted { $0.key < $1.key }.map { (workload, $0.key, $0.value) }
    }
  }

  var table: ResultTable {
    var table = ResultTable(
      key: "budget", title: "Counts for a request",
      columns: ["workload, session", "instructions", "allocations", "retains", "system calls", "futex"], digits: 1)
    for (workload, client, cost) in entries {
      table.add(
        "\(workload), \(client)", cost.instructions, cost.allocations, cost.retains, cost.systemCalls, cost.futexCalls)
    }
    return table
  }

  private static func text(_ value: Double) -> String { String(format: value < 1000 ? "%.1f" : "%.0f", value) }

  private static func percent(_ figure: Double, _ limit: Double) -> String {
    String(format: "%.1f %%", (figure / limit - 1) * 100)
  }
}

extension Budget {
  static func read(from file: URL = file) throws -> Budget {
    guard let data = try? Data(contentsOf: file) else { return Budget(costs: [:]) }
    return Budget(costs: try JSONDecoder().decode([String: [String: RequestCost]].self, from: data))
  }

  func write(to file: URL = file) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    // a tenth is finer than the repeatability
    let rounded = costs.mapValues { clients in
      clients.mapValues { cost in
        func round(_ value: Double) -> Double { (value * 10).rounded() / 10 }
        return RequestCost(
          instructions: cost.instructions.rounded(), allocations: round(cost.allocations), retains: round(cost.retains),
          systemCalls: round(cost.systemCalls))
      }
    }
    try (encoder.encode(rounded) + Data("\n".utf8)).write(to: file)
  }

  /// Counts the current costs of the budget's workloads: the minimum of some runs, because only the server's timing
  /// makes them differ.
  static func measured(at server: RunningServer, runs: Int, progress: (String) -> Void) throws -> Budget {
    var result = Budget(costs: [:])
    for run in 1...runs {
      for (key, clients) in counted {
        guard let workload = Workload.named.first(where: { $0.key == key }) else { continue }
        for (name, client) in clients {
          progress("counting \(workload.name), \(name): run \(run) of \(runs)")
          let program = ClientProgram.own(client, title: "")
          guard let cost = try RequestCost.measure(workload, program, at: server) else { continue }
          result = result.lowered(to: Budget(costs: [key: [name: cost]]))
        }
      }
    }
    return result
  }
}
