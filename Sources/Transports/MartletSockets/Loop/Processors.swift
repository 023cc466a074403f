#if os(Linux)
import CSockets
import MartletSemantics

/// How many processors the process may use at the same time. With only one, a waiting thread keeps all others from
/// running.
enum Processors {
  /// The number that the process's affinity and its control groups allow, at least 1.
  static func available() -> Int {
    let allowed = max(1, Int(martlet_processor_count()))
    guard let groups = text("/proc/self/cgroup") else { return allowed }
    let limits = quotaFiles(of: groups).compactMap { text($0).flatMap(quota) }
    return limits.reduce(allowed) { min($0, $1) }
  }

  /// The files with the quotas of a process's group and of the groups around it (cgroups(7), version 2).
  ///
  /// - Parameter groups: the content of `/proc/self/cgroup`.
  static func quotaFiles(of groups: String) -> [String] {
    guard let line = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return [] }
    var names = line.dropFirst(4).split(separator: "/")
    var files: [String] = []
    while true {
      files.append((["/sys/fs/cgroup"] + names.map(String.init) + ["cpu.max"]).joined(separator: "/"))
      guard names.popLast() != nil else { return files }
    }
  }

  /// How many processors a quota allows, rounded up; nil for no limit.
  ///
  /// - Parameter text: the time of all processors together, and the period: `150000 100000`, or `max 100000`.
  static func quota(_ text: String) -> Int? {
    let numbers = text.split { $0 == " " || $0 == "\n" }.map { Int($0) }
    guard numbers.count == 2, let time = numbers[0], let period = numbers[1], time > 0, period > 0 else { return nil }
    return (time - 1) / period + 1
  }

  private static func text(_ path: String) -> String? {
    (try? Data(contentsOf: URL(filePath: path))).map { String(decoding: $0, as: UTF8.self) }
  }
}
#endif
