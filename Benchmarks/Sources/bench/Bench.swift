import Foundation

/// Measures Martlet beside a C loop on libcurl and beside URLSession, in one run and against one server.
///
/// Nothing here fails because a figure is bad: machines differ. What counts are the ratios of one run.
@main
enum Bench {
  static func main() async {
    do {
      let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
      switch arguments.mode {
      case .help: print(Arguments.usage)
      case .memory(let probe, let url): try await probe.perform(url)
      case .images(let probe, let url, let count): try await ImageListCost.perform(probe, url, count: count)
      case .scale: try await withServer { try scale(arguments, at: $0) }
      case .scaleProbe(let probe, let server, let number): try await probe.perform(at: server, number: number)
      case .profile(let workload, let seconds):
        let transport = arguments.transports[0]
        try await withServer { try await profile(workload, transport, seconds: seconds, at: $0) }
      case .requests(let assignment): try InstructionCount.perform(assignment)
      case .instructions: try await withServer { try instructions(arguments, at: $0) }
      case .compare: try await withServer { try await compare(arguments, at: $0) }
      }
    } catch {
      say("bench: \(error)")
      exit(1)
    }
  }

  /// Starts the server, and stops it whatever happens: also when the run is interrupted.
  private static func withServer(_ body: @Sendable (RunningServer) async throws -> Void) async throws {
    let nginx = try Nginx()
    nonisolated(unsafe) let interrupted = nginx  // the process ends with it
    let interruptions = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler {
        interrupted.stop()
        exit(128 + number)
      }
      source.resume()
      return source
    }
    defer {
      for source in interruptions { source.cancel() }
      nginx.stop()
    }
    try await body(nginx.server)
  }

  private static func compare(_ arguments: Arguments, at server: RunningServer) async throws {
    print("\(Machine.description(server: server.version))\n")
    let workloads = Workload.all.filter { arguments.wants($0.key) }
    if !workloads.isEmpty {
      let clients = try Clients.all(at: server, transports: arguments.transports)
      let comparison = Comparison(clients: clients, server: server, rounds: arguments.rounds, scale: arguments.scale)
      let rows = try await comparison.run(workloads, progress: say)
      print(
        "Medians of \(arguments.rounds) rounds. `: C` is the time taken, relative to the C loop's: less is better.\n")
      print(Report.comparison(rows, of: clients) + "\n")
    }
    if arguments.wants("pipeline") { try await pipeline(arguments) }
    if arguments.wants("cache") { try await cache(arguments, at: server) }
    if arguments.wants("decode") {
      print(Report.decode(try DecodeCost(progress: say).run(rounds: arguments.rounds, progress: say)) + "\n")
    }
    if arguments.wants("images") {
      say("images")
      let count = Int(500 * arguments.scale)
      print(Report.images(try ImageListCost.run(count: count, rounds: arguments.rounds), count: count) + "\n")
    }
    if arguments.wants("memory") {
      say("memory")
      print(Report.memory(try MemoryProbe.allCases.map { ($0, try $0.run(at: server)) }) + "\n")
    }
  }

  private static func pipeline(_ arguments: Arguments) async throws {
    say("pipeline")
    var costs: [(Int, Double)] = []
    for interceptors in [0, 4] {
      let requests = Int(50_000 * arguments.scale)
      let cost = try await PipelineCost.nanoseconds(
        interceptors: interceptors, requests: requests, rounds: arguments.rounds)
      costs.append((interceptors, cost))
    }
    print(Report.pipeline(costs) + "\n")
  }

  private static func cache(_ arguments: Arguments, at server: RunningServer) async throws {
    say("cache")
    var rows: [CacheCost.Row] = []
    for (file, entries) in CacheCost.cases(scale: arguments.scale) {
      rows.append(
        try await CacheCost.measure(
          file, entries: entries, at: server, requests: Int(20_000 * arguments.scale), rounds: arguments.rounds))
    }
    print(Report.cache(rows) + "\n")
  }

  private static func instructions(_ arguments: Arguments, at server: RunningServer) throws {
    print("\(Machine.description(server: server.version))\n")
    let clients = try Clients.all(at: server, transports: arguments.transports + [.instant])
    var rows: [(workload: Workload, counts: [Double?])] = []
    for workload in Workload.all where InstructionCount.keys.contains(workload.key) && arguments.wants(workload.key) {
      say("instructions: \(workload.name)")
      rows.append((workload, try clients.map { try InstructionCount.measure(workload, $0, at: server) }))
    }
    print(Report.instructions(rows, of: clients) + "\n")
  }

  private static func scale(_ arguments: Arguments, at server: RunningServer) throws {
    print("\(Machine.description(server: server.version))\n")
    var table = MarkdownTable("over sockets", "measured", "target")
    for probe in ScaleProbe.allCases where arguments.wants(probe.rawValue) {
      say("scale: \(probe.rawValue)")
      table.add([probe.title, Report.number(try probe.run(at: server), digits: 2), probe.target])
    }
    print(table.text)
  }

  private static func profile(
    _ workload: Workload, _ transport: MeasuredTransport, seconds: Int, at server: RunningServer
  ) async throws {
    let client = SessionClient(transport, authority: server.certificate)
    let end = ContinuousClock.now + .seconds(seconds)
    var rates: [Double] = []
    while ContinuousClock.now < end {
      if let rate = try await workload.measure(client, at: server, scale: 1) { rates.append(rate) }
    }
    print("\(workload.name): \(Int(rates.median ?? 0)) \(workload.unit)")
  }

  /// For people who wait; what is printed to the standard output is the result alone.
  private static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
