@testable import MartletCommandLine
import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

/// `martlet serve` or `martlet record`, which receives the requests of a test.
final class ServerRun: Sendable {
  /// What it said when it was ready.
  let line: String
  /// The URL of the server, without a slash at its end.
  let address: String
  /// Its output on standard error.
  let errors: CapturedOutput
  private let server: Task<ExitCode, Never>

  /// Starts `martlet` with the arguments, on a free port.
  init(_ run: TestRun, _ arguments: String..., clock: any Clock<Duration> = ContinuousClock()) async throws {
    let (output, errors) = (LineOutput(), CapturedOutput())
    let environment = ToolEnvironment(
      output: output, errors: errors, input: -1, variables: [:],
      folder: URL(filePath: run.folder.url.path, directoryHint: .isDirectory), clock: clock)
    server = Task { await CommandLineTool.run(arguments + ["--port", "0"], environment) }
    self.errors = errors
    line = try #require(await output.first())
    address = String(line.prefix { $0 != " " }.dropLast())
  }

  deinit { server.cancel() }

  /// Acts like Ctrl-C.
  func interrupt() { server.cancel() }

  /// How it ended.
  var result: ExitCode { get async { await server.value } }
}

/// An output that reports its first content.
private final class LineOutput: Output {
  let isTerminal = false
  let columns = 80
  let rows = 24
  private let (lines, continuation) = AsyncStream.makeStream(of: String.self)

  func write(_ bytes: [UInt8]) throws(OutputError) { continuation.yield(String(decoding: bytes, as: UTF8.self)) }

  func first() async -> String? { await lines.first { _ in true } }
}
