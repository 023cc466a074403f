/// The parameters of a field's value, `; name=value` (RFC 9110 §5.6.6), in their order.
///
/// ```swift
/// let type: MediaType = "multipart/form-data; boundary=\"a b\""
/// type.parameters["Boundary"]   // "a b": names have no case, quotes are no part of a value
/// ```
///
/// A parameter's name is a token without case, which is what ``FieldName`` is.
public struct FieldParameters: Sendable, Hashable {
  private var parameters: [Parameter] = []

  private struct Parameter: Sendable, Hashable {
    var name: FieldName
    var value: String
  }

  /// Makes an empty collection.
  public init() {}

  /// Reads parameters as they stand in a value, with or without a semicolon before the first.
  ///
  /// Forgiving: white space around the equals sign is ignored, and so is what is no parameter.
  ///
  /// - Parameter text: `charset=utf-8; format="flowed"`.
  public init(parsing text: some StringProtocol) {
    for element in FieldList.elements(of: Substring(text), separator: UInt8(ascii: ";")) {
      guard let (name, value) = Self.pair(in: element), let value else { continue }
      parameters.append(Parameter(name: name, value: value))
    }
  }

  /// The value of the first parameter of that name, unquoted; nil if there is none.
  ///
  /// Setting replaces all of that name, at the place of the first; setting nil removes them. A value is any text: it
  /// is quoted where it must be. A control character in it is refused when it comes into ``HTTPFields``.
  public subscript(name: FieldName) -> String? {
    get { parameters.first { $0.name == name }?.value }
    set {
      let place = parameters.firstIndex { $0.name == name } ?? parameters.endIndex
      parameters.removeAll { $0.name == name }
      guard let newValue else { return }
      parameters.insert(Parameter(name: name, value: newValue), at: place)
    }
  }

  /// Reads `name=value`, `name="value"` or a bare `name`; nil if the name is no token.
  package static func pair(in element: Substring) -> (name: FieldName, value: String?)? {
    guard let equals = element.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      return Token.isValid(element) ? (FieldName(unchecked: String(element)), nil) : nil
    }
    let name = ASCII.trimmed(element[..<equals])
    guard Token.isValid(name) else { return nil }
    let value = ASCII.trimmed(element[element.utf8.index(after: equals)...])
    return (FieldName(unchecked: String(name)), QuotedString.unquoted(value))
  }
}

extension FieldParameters: Sequence {
  /// The parameters in order, each a name and an unquoted value.
  public func makeIterator() -> some IteratorProtocol<(name: FieldName, value: String)> {
    parameters.lazy.map { (name: $0.name, value: $0.value) }.makeIterator()
  }

  /// The number of parameters.
  public var count: Int { parameters.count }

  /// Whether there is no parameter.
  public var isEmpty: Bool { parameters.isEmpty }
}

extension FieldParameters: ExpressibleByDictionaryLiteral {
  /// Makes parameters from a literal: `["charset": "utf-8"]`; order and repeats are kept.
  public init(dictionaryLiteral elements: (FieldName, String)...) {
    parameters = elements.map { Parameter(name: $0.0, value: $0.1) }
  }
}

extension FieldParameters: CustomStringConvertible {
  /// The parameters as they are sent: each with `; ` before it, names in lower case, values quoted where they are no
  /// token. Empty if there is none.
  public var description: String {
    parameters.map { "; \($0.name.canonicalName)=\(QuotedString.tokenOrQuoted($0.value))" }.joined()
  }
}
