import Glibc
import MartletEngine
@testable import MartletCommandLine
import MartletSemantics
import MartletTesting
import MartletToolImages
import Synchronization

/// An output in memory. After `limit` bytes its reader closes it.
final class CapturedOutput: Output {
  let isTerminal: Bool
  let columns = 80
  let rows = 24
  private let limit: Int
  private let bytes = Mutex<[UInt8]>([])
  private let refusedTexts = Mutex<[String]>([])

  init(isTerminal: Bool = false, limit: Int = .max) { (self.isTerminal, self.limit) = (isTerminal, limit) }

  var data: Data { Data(bytes.withLock { $0 }) }
  var text: String { String(decoding: data, as: UTF8.self) }
  /// The texts that could not be written.
  var refused: [String] { refusedTexts.withLock { $0 } }

  func write(_ more: [UInt8]) throws(OutputError) {
    let isOpen = bytes.withLock { bytes in
      guard bytes.count < limit else { return false }
      bytes += more
      return true
    }
    guard isOpen else {
      refusedTexts.withLock { $0.append(String(decoding: more, as: UTF8.self)) }
      throw .closed
    }
  }
}

/// Runs command lines in this process, in a separate folder.
final class TestRun: Sendable {
  let folder: TemporaryFolder
  private let environment: [String: String]

  init(environment: [String: String] = [:]) throws {
    folder = try TemporaryFolder()
    self.environment = environment.merging(["HOME": folder.url.path]) { given, _ in given }
  }

  struct Result {
    let code: ExitCode
    let output: CapturedOutput
    let errors: CapturedOutput
    var text: String { output.text }
  }

  /// Runs a command line without more.
  ///
  /// - Parameter path: the file that is standard input.
  func run(_ arguments: [String], input path: String = "/dev/null") async throws -> Result {
    try await start(arguments, path, CapturedOutput(), CapturedOutput(), ContinuousClock(), nil)
  }

  /// - Parameters:
  ///   - input: the content of standard input; without it, it is /dev/null.
  ///   - isTerminal: whether the outputs are terminals.
  func callAsFunction(
    _ arguments: String..., input: String? = nil, isTerminal: Bool = false, outputLimit: Int = .max,
    clock: any Clock<Duration> = ContinuousClock(), password: String? = nil
  ) async throws -> Result {
    let output = CapturedOutput(isTerminal: isTerminal, limit: outputLimit)
    let errors = CapturedOutput(isTerminal: isTerminal)
    let path: String
    if let input {
      try folder.write(Data(input.utf8), to: ".input")
      path = folder.file(".input").path
    } else {
      path = "/dev/null"
    }
    return try await start(arguments, path, output, errors, clock, password)
  }

  private func start(
    _ arguments: [String], _ path: String, _ output: CapturedOutput, _ errors: CapturedOutput,
    _ clock: any Clock<Duration>, _ password: String?
  ) async throws -> Result {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(descriptor) }
    let environment = ToolEnvironment(
      output: output, errors: errors, input: descriptor, variables: environment,
      folder: URL(filePath: folder.url.path, directoryHint: .isDirectory), clock: clock,
      askPassword: { _ in password }, drawing: TerminalImages.drawing)
    let code = await CommandLineTool.run(arguments, environment)
    return Result(code: code, output: output, errors: errors)
  }

  func text(of name: String) throws -> String {
    String(decoding: try Data(contentsOf: folder.file(name)), as: UTF8.self)
  }

  func permissions(of url: URL) throws -> Int {
    var status = stat()
    guard stat(url.path, &status) == 0 else { throw UsageError("there is no '\(url.path)'") }
    return Int(status.st_mode & 0o777)
  }
}
