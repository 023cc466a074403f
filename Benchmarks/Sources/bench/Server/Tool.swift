import Foundation

/// A program that is run to its end for what it says.
enum Tool {
  static func output(of program: String, _ arguments: [String]) throws -> String {
    guard FileManager.default.isExecutableFile(atPath: program) else {
      throw BenchError("\(program) is missing: install it")
    }
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
