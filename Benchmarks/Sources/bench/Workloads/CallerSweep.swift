/// The throughput with few and many callers, with all processors and with one, and what the wait of a caller's thread
/// for the response changes (`SocketTransport.Options.blockingWait`).
enum CallerSweep {
  private static let callers = [1, 2, 4, 8, 64]

  /// - Parameter compare: runs clients with workloads.
  static func tables(
    progress: (String) -> Void, _ compare: ([ClientProgram], [Workload]) throws -> Comparison.Result
  ) throws -> [ResultTable] {
    let programs: [ClientProgram] = [
      .reference, .references[1], .own(.martlet(.bare, .sockets), title: "Martlet, bare"),
      .own(.martlet(.bare, .socketsWithoutWait), title: "Martlet, bare, without the wait"),
    ]
    let places = [("all processors", programs), ("one processor", programs.compactMap { $0.onOneProcessor() })]
    return try places.map { name, programs in
      progress("callers: \(name)")
      let result = try compare(programs, callers.map(Workload.callers))
      return table("callers, \(name)", "**Callers at once**, \(name) for the client: 1 KiB, throughput", result)
    }
  }

  private static func table(_ key: String, _ title: String, _ result: Comparison.Result) -> ResultTable {
    var table = ResultTable(key: key, title: title, columns: [""] + result.workloads.map(\.name), digits: 2)
    let workloads = result.workloads.indices
    for (index, program) in result.programs.enumerated() {
      table.add("\(program.title) ÷ the better C loop", workloads.map { result.ratio($0, index) })
    }
    if result.programs.count == 4 {
      table.add("with ÷ without the wait", workloads.map { result.ratio($0, 2, to: 3) })
    }
    return table
  }
}
