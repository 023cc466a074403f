import MartletSemantics

/// What a server knows of the current state of a resource (RFC 9110 §8.8).
struct Validators {
  /// A strong entity tag, with its quotes.
  let tag: String
  /// Seconds since 1970.
  let modified: Int64
}

/// Whether a conditional request is to be carried out (RFC 9110 §13.2.2).
enum Preconditions: Equatable {
  /// Yes: answer it as if there were no conditions.
  case hold
  /// No, the client has it already: 304.
  case notModified
  /// No: 412.
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

  /// Whether a Range field applies: there is no If-Range, or it names the current state (RFC 9110 §13.1.5).
  static func rangeApplies(_ fields: HTTPFields, against current: Validators) -> Bool {
    guard let condition = fields[.ifRange] else { return true }
    if condition.contains("\"") { return condition == current.tag }
    return Self.seconds(condition) == current.modified
  }

  /// A date as seconds since 1970; nil for what is none, which a server then ignores (RFC 9110 §13.1.3).
  private static func seconds(_ text: String) -> Int64? {
    HTTPDate.parse(text, now: Date()).map { Int64($0.timeIntervalSince1970) }
  }

  /// Compares a list of entity tags (RFC 9110 §8.8.3.2); ours is strong.
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
