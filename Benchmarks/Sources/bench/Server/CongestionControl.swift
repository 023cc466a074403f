import Foundation

/// The congestion control of new connections. The run uses CUBIC if it may: others measure their own estimates on
/// loopback. What was set before is set again at the end.
enum CongestionControl {
  private static let file = "/proc/sys/net/ipv4/tcp_congestion_control"

  static var current: String {
    (try? String(contentsOfFile: file, encoding: .utf8))?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "?"
  }

  /// Sets it, which needs root. Returns whether it is set.
  @discardableResult static func set(_ name: String) -> Bool {
    guard current != name else { return true }
    // not atomically: it is not a file that could be replaced
    guard let handle = FileHandle(forWritingAtPath: file) else { return false }
    try? handle.write(contentsOf: Data(name.utf8))
    return current == name
  }
}
