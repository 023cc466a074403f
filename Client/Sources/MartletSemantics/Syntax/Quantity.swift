/// Formats numbers of bytes and durations for people.
@_spi(Toolkit) public enum Quantity {
  /// `17 B`, `1.2 kB`, `35 MB`.
  public static func text(_ bytes: Int64) -> String {
    guard bytes >= 1000 else { return "\(bytes) B" }
    var value = Double(bytes) / 1000
    for unit in ["kB", "MB", "GB"] {
      if value < 999.5 { return "\(rounded(value)) \(unit)" }
      value /= 1000
    }
    return "\(rounded(value)) TB"
  }

  /// `0.3 ms`, `34 ms`, `1.5 s`.
  public static func text(_ duration: Duration) -> String {
    let milliseconds = duration.inMilliseconds
    return milliseconds < 999.5 ? "\(rounded(milliseconds)) ms" : "\(rounded(milliseconds / 1000)) s"
  }

  /// Rounds to one decimal below ten, to none above. Numbers beyond 10^17 count as 10^17: an `Int` can hold only tens
  /// of it.
  private static func rounded(_ value: Double) -> String {
    let value = min(max(value, -1e17), 1e17)
    let tenths = (value * 10).rounded()
    guard tenths < 100, tenths.truncatingRemainder(dividingBy: 10) != 0 else { return String(Int(value.rounded())) }
    return "\(Int(tenths) / 10).\(Int(tenths) % 10)"
  }
}

extension Duration {
  /// The duration in milliseconds, with fractions.
  @_spi(Toolkit) public var inMilliseconds: Double {
    Double(components.seconds) * 1000 + Double(components.attoseconds) / 1_000_000_000_000_000
  }
}
