import MartletSemantics

/// What a Range field asks for (RFC 9110 §14).
enum ByteRange: Equatable {
  /// Nothing that this server understands: the whole is sent. Several ranges at once count as that (§14.2).
  case whole
  /// These bytes: 206.
  case part(Range<Int64>)
  /// Bytes that are not there: 416.
  case unsatisfiable

  /// Reads the field for a representation of that size.
  static func read(_ field: String?, size: Int64) -> ByteRange {
    guard let field, let equals = field.firstIndex(of: "="), ASCII.equalIgnoringCase(field[..<equals], "bytes") else {
      return .whole
    }
    let set = ASCII.trimmed(field[field.index(after: equals)...])
    guard let dash = set.firstIndex(of: "-") else { return .whole }
    let (first, last) = (set[..<dash], set[set.index(after: dash)...])
    if first.isEmpty {
      guard let count = number(last) else { return .whole }
      return count == 0 || size == 0 ? .unsatisfiable : .part(max(0, size - count)..<size)
    }
    guard let start = number(first), let end = last.isEmpty ? .max : number(last), start <= end else { return .whole }
    return start < size ? .part(start..<(min(end, size - 1) + 1)) : .unsatisfiable
  }

  /// 1*DIGIT, as large as may be.
  private static func number(_ digits: Substring) -> Int64? {
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(digits) ?? .max
  }
}
