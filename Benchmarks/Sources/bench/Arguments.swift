import Foundation
import MeasuredClient

/// The command line.
struct Arguments {
  enum Mode {
    case compare
    case help
    /// Combines the files of earlier runs.
    case combine([URL])
    /// Counts the costs of a request.
    case costs
    /// Compares such counts with the budget.
    case budget(Budget.Change)
    /// One client alone on one workload for this number of seconds, for a profiler.
    case profile(Workload, seconds: Int)
    /// The costs of many requests and connections over sockets.
    case scale
    /// A client's process.
    case client(OwnClient, authority: URL, connections: Int)
    /// The child's part of a measurement: of memory, of many connections, of operations
    /// beside much that is stored, or of a list of pictures.
    case memory(MemoryProbe, URL)
    case scaleProbe(ScaleProbe, RunningServer, number: Int)
    case growth(String, size: Int)
    case images(ImageListCost.Probe, URL, count: Int)
  }

  static let usage = """
    bench [--quick] [--rounds N] [--only KEY,…] [--clients NAME,…] [--json FILE] [--svg FILE]
                                compare the clients: about 20 minutes; --quick 4 minutes
    bench [--svg FILE] [--only KEY,…] [--clients NAME,…] --combine FILE…
                                the medians of runs whose figures --json has written, and a chart of some
    bench --instructions [--only KEY,…] [--clients NAME,…]
                                count instructions, allocations, retains and system calls of a request (valgrind, strace)
    bench --budget              compare these counts with Benchmarks/budget.json
    bench --budget --write      the same, and lower the budget to what was counted
    bench --budget --accept     replace the budget with what was counted, even if it is higher
    bench --scale [--only KEY,…]
                                many requests and connections: \
    \(ScaleProbe.allCases.map(\.rawValue).joined(separator: ", "));
                                how the time of operations grows with what is stored, waits or is recorded; \
    a time that grows faster than it may is a failure: \
    \(Growth.groups.map(\.key).joined(separator: ", "))
    bench --profile KEY [--clients NAME] [--seconds N]
                                run one client alone, for a profiler (martlet-bare-sockets for 10 seconds)
    KEY: \(Workload.named.map(\.key).joined(separator: ", ")), \(FullRun.Section.allCases.map(\.rawValue).joined(separator: ", "))
    NAME: \(ClientProgram.all.map(\.key).joined(separator: ", "))
    ASYNC_HTTP_CLIENT=/path/to/checkout make bench    compares AsyncHTTPClient too
    """

  var mode = Mode.compare
  var rounds = 5
  /// The time for which a client fetches in a round.
  var seconds = 0.5
  /// A part of the work of the measurements that have a fixed amount.
  var scale = 1.0
  var clients: Set<String> = []
  var json: URL?
  var svg: URL?
  private var only: Set<String> = []
  private var words: ArraySlice<String> = []

  init(_ arguments: [String]) throws {
    words = arguments[...]
    var profiled: Workload?
    var seconds = 10
    while let argument = words.popFirst() {
      switch argument {
      case "--quick": (rounds, self.seconds, scale) = (3, 0.2, 0.25)
      case "--rounds": rounds = try number(for: argument)
      case "--seconds": seconds = try number(for: argument)
      case "--help": mode = .help
      case "--combine": mode = .combine(try files(for: argument))
      case "--instructions": mode = .costs
      case "--budget": mode = .budget(.none)
      case "--write": mode = .budget(.lower)
      case "--accept": mode = .budget(.replace)
      case "--scale": mode = .scale
      case "--only": only = Set(try list(for: argument))
      case "--clients": clients = Set(try list(for: argument))
      case "--json": json = URL(filePath: try next(for: argument))
      case "--svg": svg = URL(filePath: try next(for: argument))
      case "--profile": profiled = try Self.workload(try next(for: argument))
      default: mode = try child(argument)
      }
    }
    if let profiled { mode = .profile(profiled, seconds: seconds) }
    try checkKeys()
  }

  func wants(_ key: String) -> Bool { only.isEmpty || only.contains(key) }

  func wants(_ program: ClientProgram) -> Bool {
    clients.isEmpty || clients.contains(program.key) || ClientProgram.references.contains { $0.key == program.key }
  }

  /// The arguments with which this program starts its children.
  private mutating func child(_ argument: String) throws -> Mode {
    switch argument {
    case "--client":
      let client = try OwnClient(named: try next(for: argument))
      guard words.popFirst() == "--authority", let authority = words.popFirst(), words.popFirst() == "--connections"
      else {
        throw BenchError("--client NAME --authority FILE --connections N")
      }
      return .client(client, authority: URL(filePath: authority), connections: try number(for: argument))
    case "--memory":
      guard let probe = MemoryProbe(rawValue: try next(for: argument)), let url = URL(string: try next(for: argument))
      else { throw BenchError("--memory wants \(MemoryProbe.allCases.map(\.rawValue)) and a URL") }
      return .memory(probe, url)
    case "--scale-probe":
      guard let probe = ScaleProbe(rawValue: try next(for: argument)) else {
        throw BenchError("--scale-probe wants \(ScaleProbe.allCases.map(\.rawValue)), a server and a number")
      }
      let server = try JSONDecoder().decode(RunningServer.self, from: Data(try next(for: argument).utf8))
      return .scaleProbe(probe, server, number: words.popFirst().flatMap { Int($0) } ?? 0)
    case "--growth": return .growth(try next(for: argument), size: try number(for: argument))
    case "--images":
      guard let probe = ImageListCost.Probe(rawValue: try next(for: argument)),
        let url = URL(string: try next(for: argument))
      else { throw BenchError("--images wants \(ImageListCost.Probe.allCases.map(\.rawValue)), a URL and a number") }
      return .images(probe, url, count: try number(for: argument))
    default: throw BenchError("'\(argument)' is not understood:\n\(Self.usage)")
    }
  }

  private func checkKeys() throws {
    let keys = Set(
      Workload.named.map(\.key) + FullRun.Section.allCases.map(\.rawValue) + ScaleProbe.allCases.map(\.rawValue)
        + Growth.groups.map(\.key))
    if let key = only.subtracting(keys).min() { throw BenchError("there is no '\(key)' to measure:\n\(Self.usage)") }
    let names = Set(ClientProgram.all.map(\.key) + OwnClient.all.map(\.name))
    if let name = clients.subtracting(names).min() { throw BenchError("there is no client '\(name)':\n\(Self.usage)") }
  }

  private mutating func next(for argument: String) throws -> String {
    guard let word = words.popFirst() else { throw BenchError("\(argument) wants a value:\n\(Self.usage)") }
    return word
  }

  private mutating func files(for argument: String) throws -> [URL] {
    defer { words = [] }
    guard !words.isEmpty else { throw BenchError("\(argument) wants files:\n\(Self.usage)") }
    return words.map { URL(filePath: $0) }
  }

  private mutating func list(for argument: String) throws -> [String] {
    try next(for: argument).split(separator: ",").map(String.init)
  }

  private mutating func number(for argument: String) throws -> Int {
    guard let number = Int(try next(for: argument)), number > 0 else { throw BenchError("\(argument) wants a number") }
    return number
  }

  private static func workload(_ key: String) throws -> Workload {
    guard let workload = Workload.named.first(where: { $0.key == key }) else {
      throw BenchError("--profile wants a workload:\n\(usage)")
    }
    return workload
  }
}
