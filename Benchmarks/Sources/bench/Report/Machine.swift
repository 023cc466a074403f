import CLoop
import Foundation

/// The machine on which the run took place.
enum Machine {
  static func description(server: String) -> String {
    """
    \(processor), \(ProcessInfo.processInfo.activeProcessorCount) cores; \(system), Linux \(kernel); Swift \(compiler); \
    libcurl \(String(cString: cloop_library_version())); \(server) on loopback, on the same cores; \(congestionControl).
    """
  }

  /// Says how busy the machine is with other work. It is called while no client runs, and takes a third of a second.
  static func load() -> String {
    guard let before = processorTimes() else { return "" }
    usleep(300_000)
    guard let after = processorTimes(), after.all > before.all else { return "" }
    let share = 100 * (after.busy - before.busy) / (after.all - before.all)
    return share < 5
      ? "The machine was idle (\(share) % busy before)."
      : "The machine was not idle (\(share) % busy before): only ratios of this run mean something."
  }

  /// The time of all processors since the start of the machine, from the first line of `/proc/stat`.
  private static func processorTimes() -> (busy: Int, all: Int)? {
    let words = line("/proc/stat").split(separator: "\n").first?.split(separator: " ").dropFirst() ?? []
    let times = words.prefix(8).compactMap { Int($0) }
    guard times.count == 8 else { return nil }
    let all = times.reduce(0, +)
    return (all - times[3] - times[4], all)  // without idle and iowait
  }

  private static var congestionControl: String {
    let name = CongestionControl.current
    guard name != "cubic" else { return "TCP with cubic" }
    return
      "TCP with \(name), because cubic could not be set: run as root, or sysctl -w net.ipv4.tcp_congestion_control=cubic. "
      + "With bbr, 256 MiB on loopback measure the rate that it estimates and not the client"
  }

  private static var processor: String {
    value("model name", in: "/proc/cpuinfo", separator: ":") ?? "unknown processor"
  }

  private static var system: String { value("PRETTY_NAME", in: "/etc/os-release", separator: "=") ?? "Linux" }

  private static var kernel: String { line("/proc/sys/kernel/osrelease") }

  private static var compiler: String {
    #if compiler(>=6.4)
    "6.4 or later"
    #elseif compiler(>=6.3)
    "6.3"
    #else
    "6.2"
    #endif
  }

  private static func line(_ file: String) -> String {
    (try? String(contentsOfFile: file, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "?"
  }

  private static func value(_ key: String, in file: String, separator: Character) -> String? {
    let text = try? String(contentsOfFile: file, encoding: .utf8)
    let line = text?.split(separator: "\n").first { $0.hasPrefix(key) }
    return line?.split(separator: separator, maxSplits: 1).last
      .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: " \t\"")) }
  }
}
