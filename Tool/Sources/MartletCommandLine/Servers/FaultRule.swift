import MartletSemantics
import MartletTesting

/// A fault of a served path: `--delay '/api/*=2'`.
struct FaultRule: Sendable, Hashable {
  /// The kind of fault.
  enum Fault: Sendable, Hashable {
    case delay(Duration)
    case status(HTTPStatus)
    case truncate(after: Int64)
    case stall(after: Int64)
    case reset(after: Int64)
  }

  static let options: [OptionName] = [.status, .delay, .truncate, .stall, .reset]

  /// The pattern of paths; nil for all.
  let pattern: String?
  let fault: Fault

  /// Reads the value of an option: `[PATH=]VALUE`.
  init(_ option: OptionName, _ text: String) throws(UsageError) {
    let equal = text.lastIndex(of: "=")
    pattern = equal.map { String(text[..<$0]) }
    if let pattern, !pattern.hasPrefix("/"), !pattern.hasPrefix("*") {
      throw UsageError("--\(option.rawValue) '\(text)': a pattern begins with a slash, such as /api/*")
    }
    let value = equal.map { text[text.index(after: $0)...] } ?? text[...]
    guard let fault = Self.fault(option, String(value)) else {
      throw UsageError("--\(option.rawValue) '\(text)': '\(value)' is not \(Self.expected(option))")
    }
    self.fault = fault
  }

  /// Returns the faults that a request's query asks for, such as `?status=503&delay=1`. Other parameters are not for
  /// the server.
  static func asked(in query: String?) -> [Fault] {
    guard let query else { return [] }
    return PercentEncoding.form.pairs(in: query).compactMap { name, value in
      options.first { $0.rawValue == name }.flatMap { fault($0, value) }
    }
  }

  private static func fault(_ option: OptionName, _ value: String) -> Fault? {
    let count = Int64(value).flatMap { $0 >= 0 ? $0 : nil }
    return switch option {
    case .delay: Double(value).flatMap { $0 >= 0 && $0 <= 86400 ? .delay(.seconds($0)) : nil }
    case .status: Int(value).flatMap { (200...599).contains($0) ? .status(HTTPStatus($0)) : nil }
    case .truncate: count.map { .truncate(after: $0) }
    case .stall: count.map { .stall(after: $0) }
    case .reset: count.map { .reset(after: $0) }
    default: nil
    }
  }

  private static func expected(_ option: OptionName) -> String {
    switch option {
    case .delay: "a number of seconds, up to a day"
    case .status: "a status from 200 to 599"
    default: "a number of bytes"
    }
  }

  func matches(_ path: String) -> Bool { pattern.map { Self.matches(path[...], $0[...]) } ?? true }

  /// Whether the text matches the pattern, in which `*` stands for any characters. The time is at most proportional to
  /// the product of the lengths.
  static func matches(_ text: Substring, _ pattern: Substring) -> Bool {
    let pieces = pattern.split(separator: "*", omittingEmptySubsequences: false)
    guard let first = pieces.first, pieces.count > 1 else { return text == pattern }
    guard text.hasPrefix(first) else { return false }
    var rest = text.dropFirst(first.count)
    for piece in pieces.dropFirst().dropLast() {
      guard !piece.isEmpty else { continue }
      guard let range = rest.firstRange(of: piece) else { return false }
      rest = rest[range.upperBound...]
    }
    return pieces.last.map { rest.hasSuffix($0) } ?? true
  }
}

extension Reply {
  /// The reply with a fault.
  func with(_ fault: FaultRule.Fault) -> Reply {
    switch fault {
    case .delay(let time): delayed(by: time)
    case .status(let status): .text("\(status)\n", status: status)
    case .truncate(let count): truncated(after: count)
    case .stall(let count): stalled(after: count)
    case .reset(let count): reset(after: count)
    }
  }
}
