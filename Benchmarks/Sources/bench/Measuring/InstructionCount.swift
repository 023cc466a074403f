import Dispatch
import Foundation
import Synchronization

/// How many instructions of user space a request takes, as valgrind counts them: unlike times, that does not depend on what
/// else the machine does.
///
/// A child process makes some requests, and another one three times as many, so that its start does not count.
enum InstructionCount {
  static let keys: Set = ["small", "small64", "tls64", "tls64-http1"]
  private static let program = "/usr/bin/valgrind"
  private static let requests = 320

  /// What the child is told, as JSON.
  struct Assignment: Codable {
    let client: String
    let workload: String
    let times: Int
    let server: RunningServer
  }

  /// In the child: makes the requests. The main thread waits for them: what Dispatch does with a main thread that has
  /// ended (a `sigsuspend`) makes valgrind 3.19 crash.
  static func perform(_ assignment: Assignment) throws {
    let failure = Mutex<(any Error)?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      do { try await fetch(assignment) } catch { failure.withLock { $0 = error } }
      isDone.signal()
    }
    isDone.wait()
    if let error = failure.withLock({ $0 }) { throw error }
  }

  private static func fetch(_ assignment: Assignment) async throws {
    guard let workload = Workload.all.first(where: { $0.key == assignment.workload }),
      case .fetch(let file, let atOnce) = workload.kind,
      let client = try Clients.all(at: assignment.server).first(where: { $0.name == assignment.client })
    else { throw BenchError("there is no such workload or client: \(assignment)") }
    let url = assignment.server.url(workload.channel).appending(component: file.name)
    let count = try await client.fetch(url, times: assignment.times, atOnce: atOnce)
    guard count == file.count * Int64(assignment.times) else { throw BenchError("\(client.name): \(count) bytes came") }
  }

  /// In the parent: the instructions for one request; nil if the client cannot do the workload.
  static func measure(_ workload: Workload, _ client: any Client, at server: RunningServer) throws -> Double? {
    guard workload.channel == .plain || client.trustsOurAuthority else { return nil }
    let executable = try stripped()
    defer { try? FileManager.default.removeItem(at: executable) }
    let counts = try [1, 3].map { factor in
      try run(
        executable,
        Assignment(client: client.name, workload: workload.key, times: requests * factor, server: server))
    }
    return Double(counts[1] - counts[0]) / Double(2 * requests)
  }

  /// A copy of this program without the debug information, with which valgrind 3.19 cannot cope.
  private static func stripped() throws -> URL {
    let copy = FileManager.default.temporaryDirectory.appending(component: "martlet-bench-\(UUID().uuidString)")
    _ = try Tool.output(of: "/usr/bin/strip", ["--strip-debug", "-o", copy.path, CommandLine.arguments[0]])
    return copy
  }

  private static func run(_ executable: URL, _ assignment: Assignment) throws -> Int {
    let text = String(decoding: try JSONEncoder().encode(assignment), as: UTF8.self)
    let output = try Tool.output(
      of: program,
      [
        "--tool=callgrind", "--callgrind-out-file=/dev/null", executable.path, "--requests", text,
      ])
    // `==12== I   refs:      1,234,567`
    let line = output.split(separator: "\n").last { $0.contains("refs:") }
    guard let count = line?.split(separator: ":").last.flatMap({ Int($0.filter(\.isNumber)) }) else {
      throw BenchError("valgrind does not count the instructions of '\(assignment.client)': \(output)")
    }
    return count
  }
}
