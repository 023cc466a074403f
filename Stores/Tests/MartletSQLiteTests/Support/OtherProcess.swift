import Foundation
import MartletTesting
import TestSupport

/// A child process that runs `sqlite-writer`, which is beside the tests' executable.
final class OtherProcess {
  private let process: ChildProcess
  private var unread = Data()

  init(_ arguments: String...) throws {
    process = try ChildProcess(try builtProgram("sqlite-writer"), arguments, output: .read)
  }

  deinit { kill() }

  /// Returns the next number of its output; nil when it has ended.
  func next() -> Int? {
    while true {
      if let end = unread.firstIndex(of: 10) {
        let line = String(decoding: unread[..<end], as: UTF8.self)
        unread = Data(unread[(end + 1)...])
        return Int(line)
      }
      guard let bytes = process.read() else { return nil }
      unread.append(bytes)
    }
  }

  /// Kills the process, and returns the last number of its output.
  @discardableResult
  func kill() -> Int? {
    process.kill()
    var last: Int?
    while let number = next() { last = number }
    _ = process.succeeds()
    return last
  }

  /// Waits until the process ends; returns false if it failed.
  func end() -> Bool {
    while next() != nil {}
    return process.succeeds()
  }
}
