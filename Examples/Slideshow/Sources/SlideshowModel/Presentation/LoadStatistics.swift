import MartletEngine

/// Where the pictures came from so far, how large they were, and how long it took.
package struct LoadStatistics: Sendable, Hashable, CustomStringConvertible {
  package var network = 0
  /// From the session's cache, whether the service confirmed it, is away, or was not asked.
  package var cache = 0
  package var memory = 0
  package var missing = 0
  /// The bytes of the files that came from network or cache.
  package var bytes = 0
  package var milliseconds = 0

  package init() {}

  mutating func count(_ shown: ShownPicture) {
    switch shown.source {
    case .memory:
      memory += 1
      return
    case .session(.network): network += 1
    case .session: cache += 1
    }
    bytes += shown.bytes
    milliseconds += shown.milliseconds
  }

  /// `network 3 · cache 2 · memory 7 · missing 1 · 937.7 kB · 132 ms`
  package var description: String {
    "network \(network) · cache \(cache) · memory \(memory) · missing \(missing) · \(size) · \(milliseconds) ms"
  }

  private var size: String {
    guard bytes >= 1000 else { return "\(bytes) bytes" }
    let (unit, name) = bytes < 1_000_000 ? (1000, "kB") : (1_000_000, "MB")
    return "\(bytes / unit).\(bytes % unit * 10 / unit) \(name)"
  }
}
