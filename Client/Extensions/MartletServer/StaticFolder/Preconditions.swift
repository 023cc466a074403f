@_spi(Toolkit) import MartletSemantics

/// The validators of a resource's current state (RFC 9110 §8.8).
struct Validators {
  /// A strong entity tag, with its quotes.
  let tag: String
  /// Seconds since 1970.
  let modified: Int64
}

/// The outcome of a conditional request's conditions (RFC 9110 §13.2.2).
enum Preconditions: Equatable {
  /// The request is answered as if it had no conditions.
  case hold
  /// The client has the current state: 304.
  case notModified
  /// The request is refused: 412.
  case fail

  /// Evaluates the conditions in the order that RFC 9110 §13.2.2 prescribes.
  static func evaluate(_ fields: HTTPFields, method: HTTPMethod, against current: Validators) -> Preconditions {
    if let tags = fields[.ifMatch] {
      guard matches(tags, current.tag, isWeak: false) else { return .fail }
    } else if let date = fields["If-Unmodified-Since"].flatMap(Self.seconds) {
      guard current.modified <= date else { return .fail }
    }
    let isReading = method == .get || method == .head
    if let tags = fields[.ifNoneMatch] {
      return matches(tags, current.tag, isWeak: true) ? (isReading ? .notModified : .fail) : .hold
    }
    if isReading, let date = fields[.ifModifiedSince].flatMap(Self.seconds), current.modified <= date {
      return .notModified
    }
    return .hold
  }

  /// Whether a Range field applies: there is no If-Range, or it matches the current state (RFC 9110 §13.1.5).
  static func rangeApplies(_ fields: HTTPFields, against current: Validators) -> Bool {
    guard let condition = fields[.ifRange] else { return true }
    if condition.contains("\"") { return condition == current.tag }
    return Self.seconds(condition) == current.modified
  }

  /// Returns a date as seconds since 1970; nil if it is invalid: a server then ignores it (RFC 9110 §13.1.3).
  private static func seconds(_ text: String) -> Int64? {
    HTTPDate.parse(text, now: Date()).map { Int64($0.timeIntervalSince1970) }
  }

  /// Compares a list of entity tags with the resource's strong one (RFC 9110 §8.8.3.2).
  private static func matches(_ list: String, _ tag: String, isWeak: Bool) -> Bool {
    if list == "*" { return true }
    var rest = list[...]
    while let quote = rest.firstIndex(of: "\"") {
      let isMarkedWeak = rest[..<quote].hasSuffix("W/")
      guard let end = rest[rest.index(after: quote)...].firstIndex(of: "\"") else { return false }
      if rest[quote...end] == tag, isWeak || !isMarkedWeak { return true }
      rest = rest[rest.index(after: end)...]
    }
    return false
  }
}

/// The range that a Range field requests (RFC 9110 §14).
enum ByteRange: Equatable {
  /// The field is absent or not supported, such as several ranges at once: the whole is sent (§14.2).
  case whole
  /// These bytes: 206.
  case part(Range<Int64>)
  /// Bytes beyond the end: 416.
  case unsatisfiable

  /// Parses the field for a representation of that size.
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

  /// Parses `1*DIGIT`; a number that is too large becomes the largest.
  private static func number(_ digits: Substring) -> Int64? {
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int64(digits) ?? .max
  }
}
