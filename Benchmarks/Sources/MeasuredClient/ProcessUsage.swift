public import Foundation

/// The kernel's data about this process.
public struct ProcessUsage {
  /// Bytes in memory: the maximum since ``resetPeak()``, and now.
  public let peak: Int
  public let resident: Int

  public static func memory() throws -> ProcessUsage {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    func value(_ key: String) -> Int {
      let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
      return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }
    return ProcessUsage(peak: value("VmHWM:"), resident: value("VmRSS:"))
  }

  /// Makes the current resident memory the peak (proc(5), `clear_refs`). If the kernel refuses, the peak remains that
  /// of the whole process.
  public static func resetPeak() {
    guard let file = fopen("/proc/self/clear_refs", "w") else { return }
    fputs("5", file)
    fclose(file)
  }

  /// What all threads of this process have used so far.
  public static func now() -> rusage {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage
  }

  /// The seconds that all threads of this process have used.
  public static func processorTime() -> Double { seconds(of: now()) }

  /// The seconds in user space and in the kernel.
  public static func seconds(of usage: rusage) -> Double {
    [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1_000_000 }
  }
}
