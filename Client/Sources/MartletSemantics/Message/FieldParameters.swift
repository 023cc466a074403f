/// The parameters of a field value, `; name=value` (RFC 9110 §5.6.6), in order.
///
/// ```swift
/// let type: MediaType = "multipart/form-data; boundary=\"a b\""
/// type.parameters["Boundary"]   // "a b": names are case-insensitive, quotes are removed
/// ```
///
/// Names are case-insensitive tokens, like ``FieldName``.
public struct FieldParameters: Sendable, Hashable {
  private var parameters: [Parameter] = []

  fileprivate struct Parameter: Sendable, Hashable {
    var name: FieldName
    var value: String
  }

  /// Makes an empty collection.
  public init() {}

  /// Parses parameters, with or without a semicolon before the first.
  ///
  /// Lenient: white space around the equals sign and invalid parameters are ignored.
  ///
  /// - Parameter text: for example `charset=utf-8; format="flowed"`.
  public init(parsing text: some StringProtocol) {
    for element in FieldList.elements(of: Substring(text), separator: UInt8(ascii: ";")) {
      guard let (name, value) = Self.pair(in: element), let value else { continue }
      parameters.append(Parameter(name: name, value: value))
    }
  }

  /// The value of the first parameter with that name, without quotes; nil if there is none.
  ///
  /// Setting a value replaces all parameters with that name, at the position of the first; setting nil removes them.
  /// The value may be any text: it is quoted where necessary. ``HTTPFields`` refuses a value with a control character.
  public subscript(name: FieldName) -> String? {
    get { parameters.first { $0.name == name }?.value }
    set {
      let index = parameters.firstIndex { $0.name == name } ?? parameters.endIndex
      parameters.removeAll { $0.name == name }
      guard let newValue else { return }
      parameters.insert(Parameter(name: name, value: newValue), at: index)
    }
  }

  /// Adds a parameter unless an earlier one has its name.
  ///
  /// - Parameter names: the names so far, which the caller keeps while it parses. A peer may send tens of thousands of
  ///   parameters: to search all of them for each name would take too long.
  mutating func appendFirst(_ name: FieldName, _ value: String, names: inout Set<FieldName>) {
    guard names.insert(name).inserted else { return }
    parameters.append(Parameter(name: name, value: value))
  }

  /// Parses `name=value`, `name="value"` or a bare `name`; nil if the name is not a token.
  @_spi(Toolkit) public static func pair(in element: Substring) -> (name: FieldName, value: String?)? {
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
  /// The parameters in order, each as a name and a value without quotes.
  public func makeIterator() -> Iterator { Iterator(parameters) }

  /// The parameters in order, each as a name and a value without quotes.
  public struct Iterator: IteratorProtocol, Sendable {
    private var parameters: IndexingIterator<[Parameter]>

    fileprivate init(_ parameters: [Parameter]) { self.parameters = parameters.makeIterator() }

    /// Returns the next parameter; nil after the last one.
    public mutating func next() -> (name: FieldName, value: String)? { parameters.next().map { ($0.name, $0.value) } }
  }

  /// The number of parameters.
  public var count: Int { parameters.count }

  /// Whether there are no parameters.
  public var isEmpty: Bool { parameters.isEmpty }
}

extension FieldParameters: ExpressibleByDictionaryLiteral {
  /// Makes parameters from a literal such as `["charset": "utf-8"]`. Order and repeated names are kept.
  public init(dictionaryLiteral elements: (FieldName, String)...) {
    parameters = elements.map { Parameter(name: $0.0, value: $0.1) }
  }
}

extension FieldParameters: CustomStringConvertible {
  /// The parameters as they are sent: each preceded by `; `, names in lower case, values quoted if they are not tokens.
  /// Empty if there are none.
  public var description: String {
    parameters.map { "; \($0.name.canonicalName)=\(QuotedString.tokenOrQuoted($0.value))" }.joined()
  }
}
