import Foundation
import MeasuredClient

/// Performs assignments for a measurement.
protocol ClientRunner: AnyObject {
  /// The name and version of the client.
  var version: String { get }
  func measure(_ assignment: Assignment) throws -> AssignmentResult
  func stop()
}

/// A client in its own process, which keeps its connections from one assignment to the next.
final class ClientProcess: ClientRunner {
  let version: String
  private let process: pid_t
  private let input: FileHandle
  private let output: UnsafeMutablePointer<FILE>

  init(_ program: String, _ arguments: [String]) throws {
    let (reading, writing) = (try Command.makePipe(), try Command.makePipe())
    input = FileHandle(fileDescriptor: writing.write, closeOnDealloc: true)
    guard let output = fdopen(reading.read, "r") else { throw BenchError("a pipe cannot be read") }
    self.output = output
    process = try Command.spawn(program, arguments, input: writing.read, output: reading.write)
    close(writing.read)
    close(reading.write)
    guard let line = Self.readLine(output) else {
      throw BenchError("\(URL(filePath: program).lastPathComponent) \(arguments[0]) does not start")
    }
    version = try JSONDecoder().decode(Greeting.self, from: line).version
  }

  func measure(_ assignment: Assignment) throws -> AssignmentResult {
    try input.write(contentsOf: try JSONEncoder().encode(assignment) + Data("\n".utf8))
    guard let line = Self.readLine(output) else { throw BenchError("\(version) ended during \(assignment.url)") }
    let result = try JSONDecoder().decode(AssignmentResult.self, from: line)
    if let error = result.error { throw BenchError("\(version), \(assignment.url): \(error)") }
    guard result.bytes == assignment.totalLength else {
      throw BenchError("\(version), \(assignment.url): \(result.bytes) bytes instead of \(assignment.totalLength)")
    }
    return result
  }

  func stop() {
    try? input.close()
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
    fclose(output)
  }

  private static func readLine(_ file: UnsafeMutablePointer<FILE>) -> Data? {
    var line: UnsafeMutablePointer<CChar>?
    var capacity = 0
    defer { free(line) }
    let count = getline(&line, &capacity, file)
    guard count > 0, let line else { return nil }
    return Data(bytes: line, count: count)
  }
}
