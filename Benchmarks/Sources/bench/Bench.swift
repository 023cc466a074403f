import Foundation
import MeasuredClient

/// Measures Martlet and other clients, in one run and against the same servers.
///
/// A bad time is not a failure, because machines differ. The important results are the ratios of one run, and the
/// counts of the budget, which do not depend on the machine's load.
@main
enum Bench {
  static func main() async {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      switch arguments.mode {
      case .help: print(Arguments.usage)
      case .client(let client, let authority, let connections):
        try serveAssignments { try await client.make(authority: authority, connections: connections) }
      case .memory(let probe, let url): try await probe.perform(url)
      case .images(let probe, let url, let count): try await ImageListCost.perform(probe, url, count: count)
      case .scaleProbe(let probe, let server, let number): try await probe.perform(at: server, number: number)
      case .growth(let group, let size): try await Growth.perform(group, size: size)
      case .scale: try await withServer { try scale(arguments, at: $0) }
      case .profile(let workload, let seconds):
        try await withServer { try await profile(workload, arguments, seconds: seconds, at: $0) }
      case .combine(let files): try combine(files, arguments)
      case .costs: try await withServer { try costs(arguments, at: $0) }
      case .budget(let change): try await withServer { try budget(change, at: $0) }
      case .compare:
        try await withServer { server in
          var run = FullRun(arguments, at: server)
          try await run.run()
        }
      }
    } catch {
      say("bench: \(error)")
      exit(1)
    }
  }

  private static func combine(_ files: [URL], _ arguments: Arguments) throws {
    let report = Report(combining: try files.map { try Report(from: $0) })
    if let file = arguments.json { try report.write(to: file) }
    if let file = arguments.svg { try report.writeChart(to: file, arguments) }
  }

  /// Starts the server, and stops it whatever happens, even if the run is interrupted.
  private static func withServer(_ body: @Sendable (RunningServer) async throws -> Void) async throws {
    signal(SIGPIPE, SIG_IGN)  // a client that ended is an error of the write to it
    let congestionControl = CongestionControl.current
    CongestionControl.set("cubic")
    let nginx = try Nginx()
    nonisolated(unsafe) let interrupted = nginx  // the process ends with it
    let interruptions = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler {
        interrupted.stop()
        CongestionControl.set(congestionControl)
        exit(128 + number)
      }
      source.resume()
      return source
    }
    defer {
      for source in interruptions { source.cancel() }
      nginx.stop()
      CongestionControl.set(congestionControl)
    }
    try await body(nginx.server)
  }

  private static func costs(_ arguments: Arguments, at server: RunningServer) throws {
    print("\(Machine.description(server: server.version))\n")
    let own = [SessionClient.Variant.bare, .default].map {
      ClientProgram.own(.martlet($0, .sockets), title: "Martlet, \($0), sockets")
    }
    let session = ClientProgram.own(
      .martlet(.bare, .instant), title: "Martlet, bare, no transport", without: [.tls, .http2])
    let others = ClientProgram.all.filter { $0.key.hasPrefix("async-http-client") }
    let usual = ([.reference] + own + [session] + others).filter(arguments.wants)
    // clients that are not counted by default are counted if they are named
    let named = OwnClient.all.filter { client in
      arguments.clients.contains(client.name) && !usual.contains { $0.key == client.name }
    }
    let programs = usual + named.map { ClientProgram.own($0, title: $0.name) }
    for workload in Workload.named where RequestCost.keys.contains(workload.key) && arguments.wants(workload.key) {
      var table = ResultTable(
        key: "costs-" + workload.key, title: "**\(workload.name)**: counts for a request",
        columns: ["client", "instructions", "allocations", "retains", "system calls", "futex"], digits: 1)
      for program in workload.channel == .echo ? ClientProgram.webSocket : programs {
        say("counting \(workload.name), \(program.title)")
        guard let cost = try RequestCost.measure(workload, program, at: server) else { continue }
        table.add(program.title, cost.instructions, cost.allocations, cost.retains, cost.systemCalls, cost.futexCalls)
      }
      print(table.markdown + "\n")
    }
  }

  private static func budget(_ change: Budget.Change, at server: RunningServer) throws {
    let budget = try Budget.read()
    let measured = try Budget.measured(at: server, runs: 2, progress: say)
    print(measured.table.markdown + "\n")
    if change == .replace {
      try measured.write()
      return say("the budget is now what was counted: \(Budget.file.path)")
    }
    let violations = (change == .lower ? budget.lowered(to: measured) : budget).violations(of: measured)
    if change == .lower { try budget.lowered(to: measured).write() }
    guard violations.isEmpty else {
      throw BenchError(
        "requests cost more than Benchmarks/budget.json allows. Find out why (--profile, --instructions); only if the "
          + "cost is justified: make bench ARGS=\"--budget --accept\"\n" + violations.joined(separator: "\n"))
    }
  }

  private static func scale(_ arguments: Arguments, at server: RunningServer) throws {
    print("\(Machine.description(server: server.version))\n")
    let probes = ScaleProbe.allCases.filter { arguments.wants($0.rawValue) }
    if !probes.isEmpty { print(try ScaleProbe.table(probes, at: server, say).markdown + "\n") }
    guard Growth.groups.contains(where: { arguments.wants($0.key) }) else { return }
    let load = Machine.load()
    var (table, violations) = try Growth.table(rounds: min(3, arguments.rounds), wants: arguments.wants, say)
    table.load = load
    print(table.markdown)
    guard violations.isEmpty else {
      throw BenchError(
        "operations cost more the more there is, faster than they may:\n" + violations.joined(separator: "\n"))
    }
  }

  private static func profile(
    _ workload: Workload, _ arguments: Arguments, seconds: Int, at server: RunningServer
  ) async throws {
    let named = try arguments.clients.first.map { try OwnClient(named: $0) }
    let client = try await (named ?? .martlet(.bare, .sockets))
      .make(authority: server.certificate, connections: 64)
    let end = ContinuousClock.now + .seconds(seconds)
    var rates: [Double] = []
    while ContinuousClock.now < end {
      let assignment = workload.assignment(at: server, times: 4000)
      var result = AssignmentResult()
      let start = ContinuousClock.now
      result.bytes = try await client.perform(assignment)
      result.seconds = (ContinuousClock.now - start) / .seconds(1)
      rates.append(workload.rate(result, assignment))
    }
    print("\(workload.name): \(Int(rates.median ?? 0)) \(workload.unit)")
  }

  /// For people who wait; standard output has the result alone.
  static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
