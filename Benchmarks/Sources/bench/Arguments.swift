import Foundation

/// The command line.
struct Arguments {
  enum Mode {
    case compare
    case help
    /// Counts the instructions of a request.
    case instructions
    /// The child's part of such a count.
    case requests(InstructionCount.Assignment)
    /// Our client alone on one workload for so many seconds: something for a profiler to look at.
    case profile(Workload, seconds: Int)
    /// The child's part of a measurement of memory.
    case memory(MemoryProbe, URL)
    /// What many requests and connections cost over sockets.
    case scale
    /// The child's part of such a measurement.
    case scaleProbe(ScaleProbe, RunningServer, number: Int)
    /// The child's part of a list of pictures.
    case images(ImageListCost.Probe, URL, count: Int)
  }

  static let usage = """
    bench [--rounds N] [--quick] [--only KEY[,KEY…]]     compare the clients (5 rounds)
    bench --instructions [--only KEY[,KEY…]]             count the instructions of a request (valgrind)
    bench --scale [--only KEY[,KEY…]]                    many requests and connections over sockets: \
    \(ScaleProbe.allCases.map(\.rawValue).joined(separator: ", "))
    bench --profile KEY [--seconds N]                    run ours alone, for a profiler (10 seconds)
    --transport NAME[,NAME…] chooses ours: \(MeasuredTransport.real.map(\.rawValue).joined(separator: ", "))
    KEY: \(Workload.all.map(\.key).joined(separator: ", ")), pipeline, cache, decode, images, memory
    ASYNC_HTTP_CLIENT=/path/to/checkout make bench       compare AsyncHTTPClient too
    """

  var mode = Mode.compare
  var rounds = 5
  var transports = MeasuredTransport.real
  /// A part of the requests that a full run makes.
  var scale = 1.0
  private var only: Set<String> = []

  init(_ arguments: [String]) throws {
    var rest = arguments[...]
    var profiled: Workload?
    var seconds = 10
    while let argument = rest.popFirst() {
      switch argument {
      case "--quick": (rounds, scale) = (3, 0.25)
      case "--rounds": rounds = try Self.number(rest.popFirst(), for: argument)
      case "--seconds": seconds = try Self.number(rest.popFirst(), for: argument)
      case "--help": mode = .help
      case "--instructions": mode = .instructions
      case "--transport": transports = try Self.transports(rest.popFirst())
      case "--requests":
        guard let text = rest.popFirst() else { throw BenchError("--requests wants an assignment") }
        mode = .requests(try JSONDecoder().decode(InstructionCount.Assignment.self, from: Data(text.utf8)))
      case "--only": only = Set((rest.popFirst() ?? "").split(separator: ",").map(String.init))
      case "--profile": profiled = try Self.workload(rest.popFirst())
      case "--memory":
        guard let probe = rest.popFirst().flatMap(MemoryProbe.init),
          let url = rest.popFirst().flatMap(URL.init(string:))
        else { throw BenchError("--memory wants \(MemoryProbe.allCases.map(\.rawValue)) and a URL") }
        mode = .memory(probe, url)
      case "--scale": mode = .scale
      case "--scale-probe":
        guard let probe = rest.popFirst().flatMap(ScaleProbe.init), let text = rest.popFirst() else {
          throw BenchError("--scale-probe wants \(ScaleProbe.allCases.map(\.rawValue)), a server and a number")
        }
        let server = try JSONDecoder().decode(RunningServer.self, from: Data(text.utf8))
        mode = .scaleProbe(probe, server, number: rest.popFirst().flatMap { Int($0) } ?? 0)
      case "--images":
        guard let probe = rest.popFirst().flatMap(ImageListCost.Probe.init),
          let url = rest.popFirst().flatMap(URL.init(string:))
        else { throw BenchError("--images wants \(ImageListCost.Probe.allCases.map(\.rawValue)), a URL and a number") }
        mode = .images(probe, url, count: try Self.number(rest.popFirst(), for: argument))
      default: throw BenchError("'\(argument)' is not understood:\n\(Self.usage)")
      }
    }
    if let profiled { mode = .profile(profiled, seconds: seconds) }
  }

  func wants(_ key: String) -> Bool { only.isEmpty || only.contains(key) }

  private static func number(_ text: String?, for argument: String) throws -> Int {
    guard let number = text.flatMap({ Int($0) }), number > 0 else { throw BenchError("\(argument) wants a number") }
    return number
  }

  private static func transports(_ names: String?) throws -> [MeasuredTransport] {
    try (names ?? "").split(separator: ",", omittingEmptySubsequences: false).map { name in
      guard let transport = MeasuredTransport(rawValue: String(name)) else {
        throw BenchError("there is no transport '\(name)':\n\(usage)")
      }
      return transport
    }
  }

  private static func workload(_ key: String?) throws -> Workload {
    guard let workload = Workload.all.first(where: { $0.key == key }) else {
      throw BenchError("--profile wants a workload:\n\(usage)")
    }
    return workload
  }
}
