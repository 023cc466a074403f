import Foundation
import MeasuredClient

/// The measurements of a run. Each table is printed as soon as it is complete.
struct Report: Codable {
  let machine: String
  /// The names and versions of the clients.
  private(set) var clients: [String] = []
  private(set) var tables: [ResultTable] = []
  /// How busy the machine is, for the tables that follow.
  var load: String?

  init(machine: String) {
    self.machine = machine
    print(machine + "\n")
  }

  mutating func add(_ table: ResultTable) {
    var table = table
    table.load = table.load ?? load
    tables.append(table)
    print(table.markdown + "\n")
    fflush(nil)  // also into a file or a pipe, where the next table may take minutes
  }

  /// Adds the results of compared clients: throughput, also relative to the first client, processor time, memory.
  mutating func add(_ result: Comparison.Result, connections: Int) {
    clients = result.programs.indices.map { "\(result.programs[$0].title): \(result.versions[$0])" }
    print("Clients: \(clients.joined(separator: "; ")). At most \(connections) connections each.\n")
    typealias Value = (Int, Int) -> Figure?
    let tables: [(key: String, title: String, digits: Int, figure: Value)] = [
      (
        "throughput", "**Throughput** of fetches in requests a second, of 256 MiB in MB a second: median (least–most)",
        0,
        { result.figure($0, $1, \.rate) }
      ),
      (
        "ratio", "**Throughput relative to the better C loop**, or to the first client: higher is better", 2,
        { result.ratio($0, $1) }
      ),
      (
        "processor", "**Processor time** of the client in µs a request: lower is better", 0,
        { result.figure($0, $1, \.processor) }
      ),
      (
        "faults", "**Page faults** of the client for a request: lower is better", 1,
        { workload, program in
          guard result.programs[program].launch != nil else { return nil }
          return result.figure(workload, program, \.pageFaults)
        }
      ),
      (
        "peak", "**Memory** of the client's process in MB, at most during the workload", 1,
        { workload, program in result.megabytes(workload, program) }
      ),
    ]
    for (key, title, digits, figure) in tables {
      var table = ResultTable(
        key: key, title: title, columns: ["client"] + result.workloads.map(\.name), digits: digits)
      for (index, program) in result.programs.enumerated() {
        table.add(program.title, result.workloads.indices.map { figure($0, index) })
      }
      add(table)
    }
  }

  /// The figures of several runs: the median of each, and the least and the most. A run has the medians of its rounds.
  init(combining runs: [Report]) {
    let machines = Set(runs.map(\.machine)).sorted()
    self.init(machine: "\(runs.count) runs. " + machines.joined(separator: "\n"))
    clients = Set(runs.flatMap(\.clients)).sorted()
    print(clients.joined(separator: "; ") + "\n")
    let tables = runs.flatMap(\.tables)
    for index in tables.indices where !tables[..<index].contains(where: { $0.isLike(tables[index]) }) {
      add(ResultTable(combining: tables[index...].filter { $0.isLike(tables[index]) }))
    }
  }

  init(from file: URL) throws {
    do { self = try JSONDecoder().decode(Report.self, from: Data(contentsOf: file)) } catch {
      throw BenchError("\(file.path) is not a file of --json: \(error)")
    }
  }

  /// Draws the comparison of the clients and workloads that were asked for.
  func writeChart(to file: URL, _ arguments: Arguments) throws {
    guard let ratios = tables.first(where: { $0.key == "ratio" }) else {
      throw BenchError("no clients were compared, so there is no chart")
    }
    // not the commands: curl starts again each time, and wrk and h2load measure the server
    let clients = ClientProgram.all.filter { $0.launch != nil && arguments.wants($0) }.map(\.title)
    let workloads = Workload.all.filter { arguments.wants($0.key) }.map(\.name)
    let chart = Chart(ratios, clients: Set(clients), workloads: Set(workloads))
    try chart.svg.write(to: file, atomically: true, encoding: .utf8)
  }

  func write(to file: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(self).write(to: file)
  }
}
