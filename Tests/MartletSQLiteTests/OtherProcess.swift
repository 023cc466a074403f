import Foundation
import Glibc

/// The `sqlite-writer` beside the tests, as a process of its own.
final class OtherProcess {
  private let process = Process()
  private let output = Pipe()
  private var unread = Data()

  init(_ arguments: String...) throws {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    process.executableURL = URL(filePath: tests).deletingLastPathComponent().appending(path: "sqlite-writer")
    process.arguments = arguments
    process.standardOutput = output
    try process.run()
  }

  deinit { kill() }

  /// The next number that it says, nil when it has ended.
  func next() -> Int? {
    while true {
      if let end = unread.firstIndex(of: 10) {
        let line = String(decoding: unread[..<end], as: UTF8.self)
        unread = Data(unread[(end + 1)...])
        return Int(line)
      }
      let bytes = output.fileHandleForReading.availableData
      if bytes.isEmpty { return nil }
      unread.append(bytes)
    }
  }

  /// Kills it, and returns the last number that it said.
  @discardableResult
  func kill() -> Int? {
    if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    var last: Int?
    while let number = next() { last = number }
    process.waitUntilExit()
    return last
  }

  /// Waits until it ends by itself; false if it failed.
  func end() -> Bool {
    while next() != nil {}
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
