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
    let limits = quotaFolders(of: groups).compactMap { quota(in: $0) }
    return limits.reduce(allowed) { min($0, $1) }
  }

  /// The folders with the quotas of a process's groups and of the groups around them (cgroups(7)): all groups of
  /// version 2, and the groups of version 1 that limit processors. In a container, the groups around its own may be
  /// missing.
  ///
  /// - Parameter groups: the content of `/proc/self/cgroup`.
  static func quotaFolders(of groups: String) -> [String] {
    groups.split(separator: "\n").flatMap { line -> [String] in
      let columns = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard columns.count == 3, columns[2].hasPrefix("/") else { return [] }
      if columns[0] == "0", columns[1].isEmpty { return folders(from: columns[2], to: "/sys/fs/cgroup") }
      guard columns[1].split(separator: ",").contains("cpu") else { return [] }
      return folders(from: columns[2], to: "/sys/fs/cgroup/cpu")
    }
  }

  private static func folders(from path: Substring, to root: String) -> [String] {
    let names = path.split(separator: "/").map(String.init)
    return (0...names.count).reversed().map { ([root] + names.prefix($0)).joined(separator: "/") }
  }

  /// The processors that a group's quota allows; nil for no limit.
  private static func quota(in folder: String) -> Int? {
    if let both = text(folder + "/cpu.max") { return quota(both) }
    guard let time = text(folder + "/cpu.cfs_quota_us"), let period = text(folder + "/cpu.cfs_period_us") else {
      return nil
    }
    return quota(time + period)
  }

  /// How many processors a quota allows, rounded up; nil for no limit.
  ///
  /// - Parameter text: the time of all processors together, and the period: `150000 100000`; without a limit, the time
  ///   is `max` or negative.
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
