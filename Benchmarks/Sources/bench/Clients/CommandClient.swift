import Foundation
import MeasuredClient

/// A command that runs again for each assignment: its start is part of its time.
final class CommandClient: ClientRunner {
  /// The name of each command, and its arguments.
  enum Tool: String {
    case curl
    /// These make requests as fast as the server answers, and look at no answer: they show the server's limit.
    case wrk
    case h2load
  }

  let version: String
  private let tool: Tool
  private let program: String
  private let server: RunningServer

  /// Makes a client; nil if the command is not installed.
  init?(_ tool: Tool, at server: RunningServer) {
    guard let program = Command.find(tool.rawValue) else { return nil }
    self.tool = tool
    self.program = program
    self.server = server
    let text = (try? Command.output(of: program, [tool == .wrk ? "-v" : "--version"])) ?? ""
    let words = text.split(whereSeparator: \.isWhitespace)
    version = "\(tool.rawValue) \(words.dropFirst().first ?? "?")"
  }

  func measure(_ assignment: Assignment) throws -> AssignmentResult {
    let command = try Command.run(program, arguments(assignment))
    guard command.status == 0 else { throw BenchError("\(version), \(assignment.url): \(command.output)") }
    var result = AssignmentResult()
    result.processor = command.processor
    result.bytes = assignment.totalLength
    result.seconds = command.seconds
    switch tool {
    case .curl: break
    case .wrk:
      // it runs for a time, not for a number of requests: `Requests/sec:  12345.67`
      guard let rate = Self.number(after: "Requests/sec:", in: command.output), !command.output.contains("Non-2xx")
      else {
        throw BenchError("\(version), \(assignment.url): \(command.output)")
      }
      result.seconds = Double(assignment.times) / rate
      result.processor *= result.seconds / command.seconds
    case .h2load:
      // `finished in 1.23s, 12345.67 req/s, 1.23MB/s`
      guard let rate = Self.number(after: "s, ", in: command.output, onLineWith: "finished in"),
        command.output.contains(" \(assignment.times) 2xx")
      else { throw BenchError("\(version), \(assignment.url): \(command.output)") }
      result.seconds = Double(assignment.times) / rate
    }
    return result
  }

  func stop() {}

  private func arguments(_ assignment: Assignment) -> [String] {
    let url = assignment.url.absoluteString
    switch tool {
    case .curl where assignment.kind == .upload || assignment.kind == .uploadFile:
      return [
        "-sfS", "--cacert", server.certificate.path, "-H", "Expect:", "-o", "/dev/null", "-T", server.uploadBody.path,
        url,
      ]
    case .curl: return ["-sfS", "--cacert", server.certificate.path, "-o", "/dev/null", url]
    case .wrk: return ["-t", "1", "-c", "\(assignment.atOnce)", "-d", "1s", url]
    case .h2load:
      // all on one connection over HTTP/2; without pipelining over HTTP/1.1
      let streams = "\(assignment.atOnce)"
      let version =
        url.hasPrefix(server.secure.absoluteString) ? ["-c", "1", "-m", streams] : ["--h1", "-c", streams, "-m", "1"]
      return ["-t", "1", "-n", "\(assignment.times)"] + version + [url]
    }
  }

  private static func number(after mark: String, in text: String, onLineWith key: String? = nil) -> Double? {
    let line = text.split(separator: "\n").first { $0.contains(key ?? mark) }
    guard let line, let range = line.range(of: mark) else { return nil }
    return line[range.upperBound...].split(whereSeparator: \.isWhitespace).first.flatMap { Double($0) }
  }
}
