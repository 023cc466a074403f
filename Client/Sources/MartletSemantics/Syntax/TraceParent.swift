/// The `traceparent` field of W3C Trace Context level 1 (§3.2), version 00: `00-trace id-parent id-flags`.
package struct TraceParent: Sendable, Hashable {
  /// The trace ID: 32 hexadecimal digits, not all zeros.
  package let traceID: String
  /// The sampled flag: whether the caller may have recorded the trace.
  package var isSampled: Bool

  /// Makes a trace from 128 random bits.
  package init(random: (UInt64, UInt64), isSampled: Bool) {
    let low = random == (0, 0) ? 1 : random.1
    traceID = random.0.digits(16, radix: 16) + low.digits(16, radix: 16)
    self.isSampled = isSampled
  }

  /// Makes a trace with the UUID as its trace ID, so that both can be correlated; nil if the text is not a UUID, or
  /// all zeros.
  package init?(uuid text: String, isSampled: Bool) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    let digits = ASCII.lowercased(uuid.uuidString.filter { $0 != "-" })
    guard digits.utf8.contains(where: { $0 != UInt8(ascii: "0") }) else { return nil }
    traceID = digits
    self.isSampled = isSampled
  }

  /// Parses the value of a field; nil if it is not valid, so that a new trace begins (§4.3). In a valid value, the
  /// version is not `ff`, no ID is all zeros, digits are in lower case, and version 00 has nothing after the flags. Of
  /// a later version, the known part counts (§4.1).
  package init?(_ value: some StringProtocol) {
    let bytes = Array(value.utf8.prefix(56))
    guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }) else { return nil }
    guard bytes.count == 55 || !bytes.starts(with: Array("00".utf8)) && bytes[55] == UInt8(ascii: "-") else {
      return nil
    }
    let parts = [bytes[0..<2], bytes[3..<35], bytes[36..<52], bytes[53..<55]]
    guard parts.allSatisfy({ $0.allSatisfy(Self.isLowerHexadecimal) }), !parts[0].elementsEqual("ff".utf8),
      parts[1...2].allSatisfy({ $0.contains { $0 != 48 } }), let flags = ASCII.hexadecimalValue(bytes[54])
    else { return nil }
    traceID = String(decoding: parts[1], as: UTF8.self)
    isSampled = flags & 1 == 1
  }

  private static func isLowerHexadecimal(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }

  /// Returns the field value for one request. Each request is a span with a random 64-bit ID.
  package func value(span: UInt64) -> String {
    "00-\(traceID)-\(max(1, span).digits(16, radix: 16))-\(isSampled ? "01" : "00")"
  }
}

/// The `tracestate` field of W3C Trace Context level 1 (§3.3): the additions of tracing systems to a trace, which are
/// passed on unchanged.
package enum TraceState {
  /// Returns the lists of several fields as one value; nil if there is nothing to pass on, or a list is not valid: it
  /// is then dropped, and the trace continues (§4.3). It has 1 to 32 members with different keys.
  package static func combined(_ values: [String]) -> String? {
    // Empty members are allowed (§3.3.1.1), and need not be passed on.
    let members = values.flatMap { $0.split(separator: ",") }.map { $0.trimmed }.filter { !$0.isEmpty }
    guard (1...32).contains(members.count) else { return nil }
    var keys: Set<Substring> = []
    for member in members {
      guard let equals = member.firstIndex(of: "="), isKey(member[..<equals]),
        isValue(member[member.index(after: equals)...]), keys.insert(member[..<equals]).inserted
      else { return nil }
    }
    return members.joined(separator: ",")
  }

  /// A letter or digit, and letters, digits and `_ - * /`; for a tenant, with `@` and its system (§3.3.1.3.1).
  private static func isKey(_ key: Substring) -> Bool {
    let parts = key.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let limits = parts.count == 2 ? [241, 14] : [256]
    guard parts.count == limits.count else { return false }
    return zip(parts, limits).allSatisfy { part, limit in
      guard (1...limit).contains(part.count), let first = part.first, isLetterOrDigit(first) else { return false }
      return part.allSatisfy { isLetterOrDigit($0) || [95, 45, 42, 47].contains($0) }
    }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    ASCII.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }

  /// Up to 256 printable ASCII characters without `,` and `=`, not ending with a space (§3.3.1.3.2).
  private static func isValue(_ value: Substring) -> Bool {
    (1...256).contains(value.utf8.count) && value.utf8.last != 32
      && value.utf8.allSatisfy { (32...126).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
  }
}

extension Substring {
  fileprivate var trimmed: Substring { ASCII.trimmed(self) }
}
