/// The `traceparent` field of W3C Trace Context level 1, version 00: `00-trace id-parent id-flags`.
package struct TraceParent: Sendable, Hashable {
  /// The trace ID: 32 hexadecimal digits, not all zeros.
  package let traceID: String
  /// The sampled flag: whether the caller may have recorded the trace.
  package var isSampled: Bool

  /// Creates a trace from 128 random bits.
  package init(random: (UInt64, UInt64), isSampled: Bool) {
    traceID = Self.hexadecimal(random.0) + Self.hexadecimal(random == (0, 0) ? 1 : random.1)
    self.isSampled = isSampled
  }

  /// Creates a trace with the UUID as its trace ID, so that both can be correlated; nil if the text is not a UUID, or
  /// all zeros.
  package init?(uuid text: String, isSampled: Bool) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    let digits = ASCII.lowercased(uuid.uuidString.filter { $0 != "-" })
    guard digits.utf8.contains(where: { $0 != UInt8(ascii: "0") }) else { return nil }
    traceID = digits
    self.isSampled = isSampled
  }

  /// Returns the field value for one request. Each request is a span with a random 64-bit ID.
  package func value(span: UInt64) -> String {
    "00-\(traceID)-\(Self.hexadecimal(max(1, span)))-\(isSampled ? "01" : "00")"
  }

  private static func hexadecimal(_ bits: UInt64) -> String {
    let digits = String(bits, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }
}
