import Foundation
import MeasuredClient

/// A read operation whose memory is measured. Each has its own child process, because the peak is that of a whole
/// process.
enum MemoryProbe: String, CaseIterable {
  /// 300 MB through `bytes`. The reader stops again and again until the sender has filled every buffer.
  case slowRead = "slow-read"
  /// 200 MB through `data`.
  case data
  /// The same with URLSession.
  case foundationData = "urlsession-data"

  var title: String {
    switch self {
    case .slowRead: "Martlet `bytes`, 300 MB, slow reader"
    case .data: "Martlet `data`, 200 MB"
    case .foundationData: "URLSession `data(for:)`, 200 MB"
    }
  }

  var file: ServedFile { self == .slowRead ? .slow : .collected }

  struct Result: Codable {
    /// Before the first request.
    let start: Int
    let peak: Int
    /// The maximum while the reader paused; 0 if it never does.
    var paused = 0
  }

  /// In the child: reads, and prints the result.
  func perform(_ url: URL) async throws {
    let start = try ProcessUsage.memory().resident
    var paused = 0
    let count: Int64
    switch self {
    case .slowRead:
      count = try await SessionClient().slowRead(url, pausingEvery: 20, pauses: 10) {
        try await Task.sleep(for: .milliseconds(200))
        paused = max(paused, try ProcessUsage.memory().resident)
      }
    case .data: count = try await SessionClient().fetch(url, times: 1, atOnce: 1)
    case .foundationData: count = try await FoundationClient().fetch(url, times: 1, atOnce: 1)
    }
    guard count == file.count else { throw BenchError("\(title): \(count) bytes came") }
    let result = Result(start: start, peak: try ProcessUsage.memory().peak, paused: paused)
    print(String(decoding: try JSONEncoder().encode(result), as: UTF8.self))
  }

  /// In the parent: starts a child that does it.
  func run(at server: RunningServer) throws -> Result {
    let url = server.plain.appending(component: file.name).absoluteString
    let output = try Command.output(of: CommandLine.arguments[0], ["--memory", rawValue, url])
    do { return try JSONDecoder().decode(Result.self, from: Data(output.utf8)) } catch {
      throw BenchError("\(title): \(output)")
    }
  }
}

extension MemoryProbe {
  static func table(at server: RunningServer) throws -> ResultTable {
    var table = ResultTable(
      key: "memory", title: "**Memory of one large body**: MB resident, and the peak relative to the body",
      columns: ["reading", "before", "while paused", "peak", "peak : body"], digits: 1)
    for probe in allCases {
      let result = try probe.run(at: server)
      func megabytes(_ bytes: Int) -> Double { Double(bytes) / 1_000_000 }
      table.add(
        probe.title, megabytes(result.start), result.paused == 0 ? nil : megabytes(result.paused),
        megabytes(result.peak), Double(result.peak) / Double(probe.file.count))
    }
    return table
  }
}
