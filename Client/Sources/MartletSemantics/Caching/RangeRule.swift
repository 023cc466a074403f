/// Evaluates range requests for a complete body (RFC 9110 §14).
package enum RangeRule {
  /// The content of a `Range` field.
  package enum Request: Sendable, Hashable {
    /// The whole body: the field is absent, or has an unknown unit or invalid syntax (§14.2).
    case whole
    /// One part of the body.
    case part(Range<Int64>)
    /// One part beyond the end: the response is a 416.
    case unsatisfiable
    /// Several parts, which only the origin answers.
    case other
  }

  /// Parses `Range` for a body of this length.
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
      // An empty body has no last bytes, but they are not beyond its end either (§14.1.2).
      guard let count = number(last), length > 0 || count == 0 else { return .whole }
      return part(max(0, length - count), length - 1, length: length)
    }
    guard let start = number(first), last.isEmpty || number(last) != nil else { return .whole }
    let end = number(last) ?? .max
    return end < start ? .whole : part(start, min(end, length - 1), length: length)
  }

  private static func part(_ first: Int64, _ last: Int64, length: Int64) -> Request {
    first < length && first <= last ? .part(first..<last + 1) : .unsatisfiable
  }

  /// Parses digits; a number that is too large becomes the largest.
  private static func number(_ text: Substring) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return Int64(text) ?? .max
  }

  /// Whether `If-Range`, if present, allows a part of this representation (§13.1.5): with the same strong tag, or the
  /// same date, if that is old enough to be a strong validator (§8.8.2.2).
  package static func ifRangeHolds(_ fields: HTTPFields, for stored: StoredResponse) -> Bool {
    guard let validator = fields[.ifRange] else { return true }
    let head = stored.head.fields
    if validator.contains("\"") {
      return head[values: .eTag].first.map { EntityTag.matchesStrongly($0, validator) } ?? false
    }
    guard let asked = HTTPDate.parse(validator, now: stored.responseTime),
      let modified = head[values: .lastModified].first.flatMap({ HTTPDate.parse($0, now: stored.responseTime) })
    else { return false }
    let date = stored.facts.date
    return asked == modified && date.timeIntervalSince(modified) >= 1
  }
}
