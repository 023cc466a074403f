import MartletEngine
package import MartletImages

/// Where the pictures came from so far, how large they were, and how long it took.
package struct LoadStatistics: Sendable, Hashable, CustomStringConvertible {
  package var network = 0
  /// From the session's cache, whether the service confirmed it, is away, or was not asked.
  package var cache = 0
  package var memory = 0
  package var failed = 0
  /// The bytes of the files that came from network or cache.
  package var bytes: Int64 = 0
  package var milliseconds = 0

  package init() {}

  package init(_ statistics: ImageStatistics) {
    network = statistics[.session(.network)].count
    memory = statistics[.memory].count
    failed = statistics.failures
    var time = statistics[.session(.network)].time
    bytes = statistics[.session(.network)].bytes
    for source in [ResponseSource.cache, .revalidated, .stale, .offline] {
      let tally = statistics[.session(source)]
      cache += tally.count
      bytes += tally.bytes
      time += tally.time
    }
    milliseconds = time.milliseconds
  }

  /// `network 3 · cache 2 · memory 7 · failed 1 · 937.7 kB · 132 ms`
  package var description: String {
    "network \(network) · cache \(cache) · memory \(memory) · failed \(failed) · \(size) · \(milliseconds) ms"
  }

  private var size: String {
    guard bytes >= 1000 else { return "\(bytes) bytes" }
    let (unit, name): (Int64, String) = bytes < 1_000_000 ? (1000, "kB") : (1_000_000, "MB")
    return "\(bytes / unit).\(bytes % unit * 10 / unit) \(name)"
  }
}
