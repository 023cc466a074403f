/// Formats a number of bytes for people.
enum ByteSize {
  /// `937.7 kB`
  static func text(_ bytes: Int64) -> String {
    guard bytes >= 1000 else { return "\(bytes) bytes" }
    let (unit, name): (Int64, String) = bytes < 1_000_000 ? (1000, "kB") : (1_000_000, "MB")
    return "\(bytes / unit).\(bytes % unit * 10 / unit) \(name)"
  }
}
