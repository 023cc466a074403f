import Foundation

/// What the kernel says of this process's memory, in bytes.
struct ProcessMemory {
  let peak: Int
  let resident: Int

  static func now() throws -> ProcessMemory {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    func value(_ key: String) -> Int {
      let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
      return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }
    return ProcessMemory(peak: value("VmHWM:"), resident: value("VmRSS:"))
  }
}
