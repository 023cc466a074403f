/// The directives of `Cache-Control` (RFC 9111 §5.2) in a request or a response.
///
/// ```swift
/// let control = CacheControl([.cacheControl: "max-age=60, no-cache=\"Set-Cookie\""])
/// control.seconds("max-age")         // .value(60)
/// control.fieldNames("no-cache")     // ["set-cookie"]
/// ```
///
/// Names are case-insensitive, arguments may be tokens or quoted strings, and unknown directives are kept. If a
/// directive is repeated, the first one counts (§4.2.1).
public struct CacheControl: Sendable, Hashable {
  private var directives: [Directive] = []

  private struct Directive: Sendable, Hashable {
    let name: String
    let argument: String?
    let isMalformed: Bool
  }

  /// Parses the directives of a message, from all lines of the field.
  public init(_ fields: HTTPFields) {
    guard fields.contains(.cacheControl) else { return }
    for line in fields[values: .cacheControl] { add(line) }
  }

  private mutating func add(_ line: String) {
    guard !line.utf8.contains(UInt8(ascii: "\"")) else {
      directives += FieldList.elements(of: line[...]).compactMap { Self.directive($0) }
      return
    }
    // For lines without quoted strings, which are the usual ones, this takes a tenth of the time.
    var line = line
    line.withUTF8 { bytes in
      ByteScan.forEachElement(of: UnsafeRawBufferPointer(bytes)) { element in
        if let directive = Self.directive(element) { directives.append(directive) }
      }
    }
  }

  /// Whether the directive is present, with or without an argument.
  public func contains(_ name: String) -> Bool { first(name) != nil }

  /// Whether the directive is present without field names as its argument, so that it applies to the whole response:
  /// `no-cache`, but not `no-cache="Set-Cookie"` (RFC 9111 §5.2.2.4).
  public func isUnqualified(_ name: String) -> Bool {
    directives.contains { $0.name == name && Self.fieldNames(in: $0.argument).isEmpty }
  }

  /// Returns the field names in the argument of the directive, from all its occurrences.
  public func fieldNames(_ name: String) -> Set<FieldName> {
    directives.reduce(into: []) { names, directive in
      if directive.name == name { names.formUnion(Self.fieldNames(in: directive.argument)) }
    }
  }

  /// An argument of a directive in seconds.
  public enum Seconds: Sendable, Hashable {
    /// The number of seconds, limited to 2³¹ (RFC 9111 §1.2.2).
    case value(Int)
    /// `max-stale` without an argument: a response may be stale for any time (RFC 9111 §5.2.1.2).
    case unlimited
    /// The argument is missing, or not a valid number of seconds: negative, a fraction or a word. Treat the response as
    /// stale (RFC 9111 §4.2.1).
    case invalid
  }

  /// Returns the argument of a directive in seconds; nil if the directive is absent.
  public func seconds(_ name: String) -> Seconds? {
    guard let directive = first(name) else { return nil }
    guard !directive.isMalformed else { return .invalid }
    guard let argument = directive.argument else { return name == "max-stale" ? .unlimited : .invalid }
    return Self.deltaSeconds(argument).map(Seconds.value) ?? .invalid
  }

  /// Returns the number of seconds; nil if the directive is absent or its argument is invalid.
  package func validSeconds(_ name: String) -> Int? {
    if case .value(let seconds) = seconds(name) { seconds } else { nil }
  }

  private func first(_ name: String) -> Directive? { directives.first { $0.name == name } }

  /// Parses delta-seconds (RFC 9111 §1.2.2): digits only.
  package static func deltaSeconds(_ text: some StringProtocol) -> Int? {
    guard !text.isEmpty, text.utf8.allSatisfy(ASCII.isDigit) else { return nil }
    return min(Int(text) ?? secondsLimit, secondsLimit)
  }

  /// The greatest number of seconds that caches count to (§1.2.2).
  static let secondsLimit = 1 << 31

  /// Parses `name`, `name=token` or `name="text"`. White space around the equals sign is invalid (RFC 9111 §5.2): the
  /// directive is then present, but its argument is not used.
  private static func directive(_ element: Substring) -> Directive? {
    guard let equals = element.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return Token.isValid(element)
        ? Directive(name: ASCII.lowercased(element), argument: nil, isMalformed: false) : nil
    }
    let written = element[..<equals]
    let name = ASCII.trimmed(written)
    guard Token.isValid(name) else { return nil }
    let argument = element[element.utf8.index(after: equals)...]
    let isMalformed = name.endIndex != written.endIndex || argument.utf8.first.map(ASCII.isWhitespace) == true
    return Directive(
      name: ASCII.lowercased(name), argument: QuotedString.unquoted(ASCII.trimmed(argument)), isMalformed: isMalformed)
  }

  /// Parses a directive from bytes that contain no quoted string.
  private static func directive(_ element: UnsafeRawBufferPointer) -> Directive? {
    let equals = element.firstIndex(of: UInt8(ascii: "="))
    let written = UnsafeRawBufferPointer(rebasing: element[..<(equals ?? element.count)])
    let name = ByteScan.trimmed(written)
    guard !name.isEmpty, name.allSatisfy(Token.isTokenCharacter) else { return nil }
    let argument = equals.map { UnsafeRawBufferPointer(rebasing: element[($0 + 1)...]) }
    let hasSpace = name.count != written.count || argument?.first.map(ASCII.isWhitespace) == true
    let isLowercased = !name.contains { (65...90).contains($0) }
    return Directive(
      name: isLowercased ? text(name) : ASCII.lowercased(text(name)),
      argument: argument.map { text(ByteScan.trimmed($0)) }, isMalformed: argument != nil && hasSpace)
  }

  private static func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes.bindMemory(to: UInt8.self), as: UTF8.self)
  }

  private static func fieldNames(in argument: String?) -> [FieldName] {
    guard let argument else { return [] }
    return FieldList.elements(of: argument[...]).filter { Token.isValid($0) }.map { FieldName(unchecked: String($0)) }
  }
}
