import Foundation
import MeasuredClient

/// The costs of a request that can be counted: instructions of user space, allocations, retains and system calls.
/// Unlike times, they do not depend on other load on the machine.
///
/// A child makes some requests, and another one three times as many, so that its start does not count.
struct RequestCost: Codable, Equatable {
  var instructions = 0.0
  var allocations = 0.0
  var retains = 0.0
  /// All but those of `futex`.
  var systemCalls = 0.0
  /// Calls of `futex`, with which threads sleep and wake each other. Their number depends on the machine's load, so
  /// there is no budget for them.
  var futexCalls = 0.0

  private enum CodingKeys: CodingKey {
    case instructions, allocations, retains, systemCalls
  }

  static let keys: Set = [
    "small", "small64", "tls64", "tls64-http1", "gzip16", "brotli16", "zstd16", "echo", "echo16", "echo-large",
  ]

  /// Counts with callgrind and strace.
  static func measure(_ workload: Workload, _ program: ClientProgram, at server: RunningServer) throws -> RequestCost? {
    guard workload.needs.isSubset(of: program.abilities), let launch = program.launch else { return nil }
    let (path, arguments) = launch(server, 64)
    guard !path.contains("python"), !path.hasSuffix("/env"), FileManager.default.isExecutableFile(atPath: path) else {
      return nil
    }
    let folder = FileManager.default.temporaryDirectory.appending(component: "martlet-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // A copy without debug information, because valgrind 3.19 cannot read it.
    let copy = folder.appending(component: "client").path
    _ = try Command.output(of: "/usr/bin/strip", ["--strip-debug", "-o", copy, path])
    let requests = workload.kind == .decode ? 200 : 1600  // decoding takes most of the instructions
    let counts = try [1, 3].map { factor in
      let assignment = workload.assignment(at: server, times: requests * factor)
      return try count([copy] + arguments, assignment, in: folder)
    }
    func each(_ key: KeyPath<RequestCost, Double>) -> Double {
      (counts[1][keyPath: key] - counts[0][keyPath: key]) / Double(2 * requests)
    }
    return RequestCost(
      instructions: each(\.instructions), allocations: each(\.allocations), retains: each(\.retains),
      systemCalls: each(\.systemCalls), futexCalls: each(\.futexCalls))
  }

  private static func count(_ command: [String], _ assignment: Assignment, in folder: URL) throws -> RequestCost {
    let profile = folder.appending(component: "callgrind.out")
    let calls = folder.appending(component: "strace.out")
    try run(
      "/usr/bin/valgrind",
      ["--tool=callgrind", "--callgrind-out-file=\(profile.path)", "--compress-strings=no"] + command, assignment)
    try run("/usr/bin/strace", ["-f", "-c", "-U", "calls,name", "-o", calls.path] + command, assignment)
    let counts = CallgrindProfile(try String(contentsOf: profile, encoding: .utf8))
    let (systemCalls, futexCalls) = systemCalls(inSummary: try String(contentsOf: calls, encoding: .utf8))
    return RequestCost(
      instructions: Double(counts.instructions), allocations: Double(counts.allocations),
      retains: Double(counts.retains), systemCalls: Double(systemCalls), futexCalls: Double(futexCalls))
  }

  private static func run(_ tool: String, _ arguments: [String], _ assignment: Assignment) throws {
    let input = String(decoding: try JSONEncoder().encode(assignment), as: UTF8.self) + "\n"
    let command = try Command.run(tool, arguments, input: input)
    let line = command.output.split(separator: "\n").last { $0.hasPrefix("{") && $0.contains("bytes") }
    guard let line, let result = try? JSONDecoder().decode(AssignmentResult.self, from: Data(line.utf8)),
      result.error == nil, result.bytes == assignment.totalLength
    else { throw BenchError("\(tool): the client failed: \(command.output)") }
  }

  /// The sums of the calls in what `strace -c -U calls,name` prints: lines of a number and a name, and a total.
  static func systemCalls(inSummary text: String) -> (others: Int, futex: Int) {
    text.split(separator: "\n").reduce(into: (others: 0, futex: 0)) { sums, line in
      let words = line.split(separator: " ")
      guard words.count == 2, words[1] != "total", let count = Int(words[0]) else { return }
      if words[1] == "futex" { sums.futex += count } else { sums.others += count }
    }
  }
}

/// The counts of callgrind, in the format of its output file with uncompressed names. `summary: N` has the
/// instructions, and `cfn=NAME` precedes `calls=N POSITION` for each place that calls the function.
struct CallgrindProfile {
  private(set) var instructions = 0
  /// Calls of `malloc` and its relatives.
  private(set) var allocations = 0
  /// Calls of `swift_retain`.
  private(set) var retains = 0

  private static let allocators: Set<Substring> = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"]

  init(_ text: String) {
    var callee: Substring = ""
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      if line.starts(with: "cfn=".utf8) {
        callee = Substring(line.dropFirst(4))
      } else if line.starts(with: "calls=".utf8) {
        let count = Substring(line.dropFirst(6)).split(separator: " ").first.flatMap { Int($0) } ?? 0
        if Self.allocators.contains(callee) { allocations += count }
        if callee == "swift_retain" { retains += count }
      } else if line.starts(with: "summary:".utf8) || line.starts(with: "totals:".utf8) {
        let count = Substring(line.drop { $0 != UInt8(ascii: ":") }.dropFirst()).split(separator: " ").first
        instructions = max(instructions, count.flatMap { Int($0) } ?? 0)
      }
    }
  }
}
