import Foundation
import MartletTesting

/// The `sqlite-writer` beside the tests, as a process of its own.
final class OtherProcess {
  private let process: ChildProcess
  private var unread = Data()

  init(_ arguments: String...) throws {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let writer = URL(filePath: tests).deletingLastPathComponent().appending(path: "sqlite-writer")
    process = try ChildProcess(writer.path, arguments, output: .read)
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
      guard let bytes = process.read() else { return nil }
      unread.append(bytes)
    }
  }

  /// Kills it, and returns the last number that it said.
  @discardableResult
  func kill() -> Int? {
    process.kill()
    var last: Int?
    while let number = next() { last = number }
    _ = process.succeeds()
    return last
  }

  /// Waits until it ends by itself; false if it failed.
  func end() -> Bool {
    while next() != nil {}
    return process.succeeds()
  }
}
