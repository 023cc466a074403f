/// Parts of a complete body (RFC 9110 §14).
package enum RangeRule {
  /// What a `Range` field asks of a body.
  package enum Request: Sendable, Hashable {
    /// The whole: there is no such field, or it has a unit or syntax that is to be ignored (§14.2).
    case whole
    /// One part, within the body.
    case part(Range<Int64>)
    /// Several parts, or none that the body has: a question for the origin.
    case other
  }

  /// Reads `Range` for a body of that length.
  package static func read(_ fields: HTTPFields, length: Int64) -> Request {
    let lines = fields[values: .range]
    guard let line = lines.first, lines.count == 1, let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")),
      ASCII.equalIgnoringCase(line[..<equals], "bytes")
    else { return lines.count > 1 ? .other : .whole }
    let ranges = FieldList.elements(of: line[line.utf8.index(after: equals)...])
    guard ranges.count == 1 else { return ranges.isEmpty ? .whole : .other }
    let bounds = ranges[0].split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard bounds.count == 2 else { return .whole }
    return read(first: bounds[0], last: bounds[1], length: length)
  }

  private static func read(first: Substring, last: Substring, length: Int64) -> Request {
    if first.isEmpty {
      guard let count = number(last) else { return .whole }
      return part(max(0, length - count), length - 1, length: length)
    }
    guard let start = number(first), last.isEmpty || number(last) != nil else { return .whole }
    let end = number(last) ?? .max
    return end < start ? .whole : part(start, min(end, length - 1), length: length)
  }

  private static func part(_ first: Int64, _ last: Int64, length: Int64) -> Request {
    first < length && first <= last ? .part(first..<last + 1) : .other
  }

  /// Digits; what is too large for any body is the largest number.
  private static func number(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int64(text) ?? .max
  }

  /// Whether `If-Range`, where there is one, lets the part be taken from this representation (§13.1.5): a strong tag that
  /// is the same, or a date that is exactly the same and old enough to be a strong validator (§8.8.2.2).
  package static func ifRangeHolds(_ fields: HTTPFields, for stored: StoredResponse) -> Bool {
    guard let validator = fields[.ifRange] else { return true }
    let head = stored.head.fields
    if validator.contains("\"") {
      return head[values: .eTag].first.map { EntityTag.matchesStrongly($0, validator) } ?? false
    }
    guard let asked = HTTPDate.parse(validator, now: stored.responseTime),
      let modified = head[values: .lastModified].first.flatMap({ HTTPDate.parse($0, now: stored.responseTime) })
    else { return false }
    let date = Freshness.date(of: stored.head, receivedAt: stored.responseTime)
    return asked == modified && date.timeIntervalSince(modified) >= 1
  }
}
