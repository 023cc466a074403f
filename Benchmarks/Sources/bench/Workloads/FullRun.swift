import Foundation
import MeasuredClient

/// All measurements, one after another.
struct FullRun {
  /// The measurements in addition to the workloads.
  enum Section: String, CaseIterable {
    case connections, websocket, bodies, latency, callers, crowd, growth, processor, neighbour, features
    case modules, pipeline, cache, hedging, json, start, scale, decode, images, memory
    case growingCosts = "growing-costs"
  }

  private let arguments: Arguments
  private let server: RunningServer
  private var report: Report

  init(_ arguments: Arguments, at server: RunningServer) {
    self.arguments = arguments
    self.server = server
    report = Report(machine: Machine.description(server: server.version))
  }

  mutating func run() async throws {
    let start = ContinuousClock.now
    report.load = Machine.load()
    try compareClients()
    for section in Section.allCases where arguments.wants(section.rawValue) {
      Bench.say("\(section.rawValue) (after \((ContinuousClock.now - start) / .seconds(1)) s)")
      report.load = Machine.load()
      try await perform(section)
    }
    if let file = arguments.json { try report.write(to: file) }
  }

  private mutating func perform(_ section: Section) async throws {
    switch section {
    case .connections:
      let result = try comparison(programs.filter { $0.launch != nil }).run(Workload.connecting)
      report.add(result, connections: 64)
    case .websocket:
      report.add(try comparison(ClientProgram.webSocket).run(Workload.webSocket), connections: 1)
    case .bodies:
      let collecting = programs.filter { $0.launch != nil }
      report.add(try comparison(collecting, seconds: 2 * arguments.seconds).run(Workload.bodies), connections: 4)
    case .latency:
      let clients = programs.filter { LatencyCost.clients.contains($0.key) }
      let tables = try LatencyCost.tables(clients, at: server, rounds: arguments.rounds, Bench.say)
      for table in tables { report.add(table) }
    case .callers:
      for table in try CallerSweep.tables(progress: Bench.say, { try comparison($0).run($1) }) { report.add(table) }
    case .crowd: try compareCrowd()
    case .growth: try measureGrowth()
    case .processor:
      try addRatios(
        "processor", "**One processor** for the client: relative to the C loop",
        programs.compactMap { $0.onOneProcessor() })
    case .neighbour:
      report.add(
        try await NeighbourCost.table(
          at: server, seconds: 4 * arguments.seconds, rounds: min(3, arguments.rounds), progress: Bench.say))
    case .features: try compareFeatures()
    case .modules: try compareModules()
    case .pipeline: try comparePipeline()
    case .cache:
      report.add(try await CacheCost.table(at: server, scale: arguments.scale, rounds: arguments.rounds))
    case .hedging:
      report.add(try await HedgingCost.table(scale: arguments.scale, rounds: arguments.rounds))
    case .json: report.add(try JSONCost.table(rounds: arguments.rounds))
    case .start: report.add(try StartCost.table(at: server, rounds: arguments.rounds, Bench.say))
    case .scale: report.add(try ScaleProbe.table([.requests, .waiting, .open, .sockets, .idle], at: server, Bench.say))
    case .decode:
      let rows = try DecodeCost(progress: Bench.say).run(rounds: arguments.rounds, progress: Bench.say)
      report.add(DecodeCost.table(rows))
    case .images:
      let count = Int(500 * arguments.scale)
      let rounds = try ImageListCost.run(count: count, rounds: arguments.rounds)
      for table in ImageListCost.tables(rounds, count: count) { report.add(table) }
    case .memory: report.add(try MemoryProbe.table(at: server))
    case .growingCosts: report.add(try Growth.table(rounds: 1, wants: { _ in true }, Bench.say).table)
    }
  }

  private func comparison(_ programs: [ClientProgram], connections: Int = 64, seconds: Double? = nil) -> Comparison {
    Comparison(
      programs: programs, server: server, rounds: arguments.rounds, seconds: seconds ?? arguments.seconds,
      connections: connections, progress: Bench.say)
  }

  private var programs: [ClientProgram] {
    ClientProgram.all.filter(arguments.wants)
  }

  private mutating func compareClients() throws {
    let workloads = Workload.all.filter { arguments.wants($0.key) }
    guard !workloads.isEmpty else { return }
    let result = try comparison(programs).run(workloads)
    report.add(result, connections: 64)
    if let file = arguments.svg { try report.writeChart(to: file, arguments) }
  }

  private mutating func compareCrowd() throws {
    let connections = Workload.crowd.atOnce
    var table = ResultTable(
      key: "crowd",
      title: "**10,000 requests at once**, each on its own new connection, to a server that answers after 1 second: "
        + "median (least–most)",
      columns: ["client", "seconds for all", "processor, µs a request", "peak, MB"], digits: 1)
    // one client after another: each keeps its connections while it runs, and two would exceed the limit of open files
    for program in programs where Workload.crowd.needs.isSubset(of: program.abilities) {
      let result = try Comparison(
        programs: [program], server: server, rounds: min(3, arguments.rounds), seconds: 0, connections: connections,
        startsCold: true,
        progress: Bench.say
      ).run([.crowd])
      guard !result.programs.isEmpty else { continue }
      table.add(
        program.title,
        [
          result.figure(0, 0) { Double(connections) / $0.rate }, result.figure(0, 0, \.processor),
          result.megabytes(0, 0),
        ])
    }
    report.add(table)
  }

  /// The memory of 200,000 requests beyond that of the first 50,000; a tenth of both numbers for clients that are ten
  /// times slower.
  private mutating func measureGrowth() throws {
    var table = ResultTable(
      key: "growth", title: "**Growth of memory** over 150,000 more requests, 8 at once, in KB a thousand requests",
      columns: ["client", "growth", "resident, MB"], digits: 1)
    guard let workload = Workload.all.first(where: { $0.key == "small64" }) else { return }
    for program in programs where program.launch != nil && workload.needs.isSubset(of: program.abilities) {
      guard let runner = try? program.start(at: server, connections: 64) else { continue }
      defer { runner.stop() }
      Bench.say("growth: \(program.title)")
      var assignment = workload.assignment(at: server, times: 4_000)
      assignment.atOnce = 8
      let first = try runner.measure(assignment)
      let share = first.seconds > 1 ? 0.1 : 1.0
      assignment.times = Int(50_000 * arguments.scale * share)
      let before = try runner.measure(assignment).resident
      assignment.times *= 3
      let after = try runner.measure(assignment).resident
      table.add(
        program.title, Double(after - before) / 1000 / (Double(assignment.times) / 1000), Double(after) / 1_000_000)
    }
    report.add(table)
  }

  private mutating func compareFeatures() throws {
    let variants = SessionClient.Variant.allCases.map {
      ClientProgram.own(.martlet($0, .sockets), title: $0.title)
    }
    try addRatios(
      "features", "**Features of a session** over sockets, each alone, and all: relative to the bare session", variants)
  }

  private mutating func compareModules() throws {
    try addRatios(
      "modules", "**The APIs** with cookies and a cache in memory: relative to `HTTPSession`",
      [
        .own(.martlet(.default, .sockets), title: "HTTPSession"), .own(.tasks, title: "MartletTasks"),
        .own(.sapFoundation, title: "SAPURLSession"),
      ])
  }

  private mutating func addRatios(_ key: String, _ title: String, _ programs: [ClientProgram]) throws {
    let workloads = Workload.all.filter { ["small", "small64"].contains($0.key) }
    let result = try comparison(programs).run(workloads)
    var table = ResultTable(
      key: key, title: title + " (throughput, higher is better); processor time in µs a request",
      columns: ["", workloads[0].name, "µs", workloads[1].name, "µs"], digits: 2)
    for (index, program) in result.programs.enumerated() {
      table.add(
        program.title,
        workloads.indices.flatMap { [result.ratio($0, index), result.figure($0, index, \.processor)] })
    }
    report.add(table)
  }

  private mutating func comparePipeline() throws {
    let programs = [SessionClient.Variant.bare, .interceptors, .default, .builtIn, .all, .stored, .storedOnDisk].map {
      ClientProgram.own(.martlet($0, .instant), title: $0.title)
    }
    let result = try comparison(programs).run(Workload.all.filter { $0.key == "small" })
    var table = ResultTable(
      key: "pipeline", title: "**The session alone**, over a transport that answers at once: ns a request",
      columns: ["session", "ns"])
    for (index, program) in result.programs.enumerated() {
      table.add(program.title, [result.figure(0, index) { 1_000_000_000 / $0.rate }])
    }
    report.add(table)
  }
}
