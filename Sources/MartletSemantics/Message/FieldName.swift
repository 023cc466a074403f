/// The name of a header or trailer field: a token, compared without regard to case (RFC 9110 §5.1).
///
/// A value of this type is always valid. Names known when the program is written are literals
/// (`let name: FieldName = "X-Request-Id"`) or one of the constants (`.contentType`); names that come from
/// outside go through ``init(_:)-swift.init``, which throws.
public struct FieldName: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The name as it was written, which is how it is sent over HTTP/1.1.
  public let rawName: String
  /// The name in lower case: what comparison, hashing and HTTP/2 use.
  public let canonicalName: String

  /// Makes a name from text that comes from outside.
  ///
  /// - Throws: ``FieldError/invalidName(_:)`` if the text is no token.
  public init(_ name: String) throws(FieldError) {
    guard Token.isValid(name) else { throw .invalidName(name) }
    self.init(unchecked: name)
  }

  /// Makes a name from a literal of the program.
  ///
  /// A literal that is no token is a mistake in the source and stops the program.
  public init(stringLiteral value: String) {
    precondition(
      Token.isValid(value),
      "'\(value)' is not a field name: use letters, digits and !#$%&'*+-.^_`|~ only (RFC 9110 §5.1)")
    self.init(unchecked: value)
  }

  package init(unchecked name: String) {
    rawName = name
    canonicalName = name.utf8.contains { (65...90).contains($0) } ? ASCII.lowercased(name) : name
  }

  /// Compares without regard to case.
  public static func == (left: Self, right: Self) -> Bool { left.canonicalName == right.canonicalName }

  /// Hashes without regard to case.
  public func hash(into hasher: inout Hasher) { hasher.combine(canonicalName) }

  /// The name as it was written.
  public var description: String { rawName }
}

/// Why a header field was refused.
public enum FieldError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name holds something else than the characters of a token, or nothing (RFC 9110 §5.1).
  case invalidName(String)
  /// The value of the named field holds CR, LF, NUL or another control character (RFC 9110 §5.5).
  ///
  /// The value itself is not kept: it may be a secret.
  case invalidValue(name: String)

  /// What is wrong and what to do about it; values are never shown.
  public var description: String {
    switch self {
    case .invalidName(let name):
      "the field name \(String(reflecting: name)) is not a token: use letters, digits and !#$%&'*+-.^_`|~ only"
    case .invalidValue(let name):
      "the value of the field '\(name)' holds a control character: remove CR, LF, NUL and the like, or encode them"
    }
  }
}
