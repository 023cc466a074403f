import Foundation

/// The orders of a process of the fleet, as its argument.
struct Orders: Codable {
  enum Work: String, Codable {
    /// Requests the same URL many times at once.
    case cold
    /// Requests some URLs again and again, for a time.
    case load
    /// Sends as much as the rate limit allows, for a time.
    case rate
    /// Sends requests that need an access token.
    case token
  }

  var work: Work
  var origin: URL
  var redis: String
  var prefix: String
  var number: Int
  /// Whether the cache is on the server, or in the process.
  var usesRedis = true
  /// Whether processes agree which of them sends a request.
  var hasLeases = true
  var waitLimit = 250
  var lease = 1_000
  var count = 500
  var seconds = 3.0
}

/// The observations of a process, as its output.
struct Findings: Codable {
  var latencies: [Double] = []
  var wrong = 0
  var failed: [String] = []

  mutating func add(_ other: Findings) {
    latencies += other.latencies
    wrong += other.wrong
    failed += other.failed
  }

  /// In milliseconds.
  func percentile(_ part: Double) -> Double {
    let sorted = latencies.sorted()
    guard !sorted.isEmpty else { return 0 }
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
  }
}

/// The body that belongs to a target: a body stored for one target must not be returned for another.
func content(of target: String) -> Data {
  let size = target.contains("large") ? 300_000 : 2_000
  let line = Data("\(target)\n".utf8)
  var content = Data(capacity: size + line.count)
  while content.count < size { content += line }
  return content
}
