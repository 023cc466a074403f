/// Reads the parts of a media type like browsers do (WHATWG MIME Sniffing §4.4, “parse a MIME type”), which servers are
/// tested with. That standard defines the result for every text; RFC 9110 §8.3.1 does so only for valid ones.
struct MediaTypeSyntax {
  private var rest: ArraySlice<UInt8>
  private let isFieldValue: Bool

  private static let semicolon = UInt8(ascii: ";")
  private static let quote = UInt8(ascii: "\"")

  /// - Parameter isFieldValue: whether every byte is a code point up to U+00FF.
  init(_ text: some StringProtocol, isFieldValue: Bool) {
    rest = Self.withoutTrailingSpace(ArraySlice(text.utf8)).drop(while: Self.isSpace)
    self.isFieldValue = isFieldValue
  }

  /// Takes type and subtype, in lower case; nil if one of them is no token.
  mutating func takeEssence() -> (type: String, subtype: String)? {
    let type = take { $0 != UInt8(ascii: "/") }
    rest = rest.dropFirst()
    let subtype = Self.withoutTrailingSpace(take { $0 != Self.semicolon })
    guard Self.isToken(type), Self.isToken(subtype) else { return nil }
    return (ASCII.lowercased(Self.text(type)), ASCII.lowercased(Self.text(subtype)))
  }

  /// Takes the parameters. Leaves out a parameter that is invalid or has the name of an earlier one.
  mutating func takeParameters() -> FieldParameters {
    var parameters = FieldParameters()
    var names: Set<FieldName> = []
    while !rest.isEmpty {
      rest = rest.dropFirst().drop(while: Self.isSpace)  // the semicolon
      let name = take { $0 != Self.semicolon && $0 != UInt8(ascii: "=") }
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest = rest.dropFirst()
      guard let value = takeValue(), Self.isToken(name), isAllowed(value) else { continue }
      parameters.appendFirst(FieldName(unchecked: Self.text(name)), Self.text(value), names: &names)
    }
    return parameters
  }

  /// Takes the value of a parameter and the text after it up to the semicolon; nil if it is empty and unquoted.
  private mutating func takeValue() -> ArraySlice<UInt8>? {
    guard rest.first == Self.quote else {
      let value = Self.withoutTrailingSpace(take { $0 != Self.semicolon })
      return value.isEmpty ? nil : value
    }
    let value = takeQuotedString()
    _ = take { $0 != Self.semicolon }
    return value[...]
  }

  /// Takes a quoted string (Fetch, “collect an HTTP quoted string”), which may end with the text.
  private mutating func takeQuotedString() -> [UInt8] {
    rest = rest.dropFirst()
    var value: [UInt8] = []
    while let byte = rest.popFirst(), byte != Self.quote {
      // A backslash at the end stands for itself.
      value.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
    }
    return value
  }

  private mutating func take(while belongs: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let part = rest.prefix(while: belongs)
    rest = rest[part.endIndex...]
    return part
  }

  /// HTTP quoted-string token code points: U+0009, U+0020 to U+007E, and U+0080 to U+00FF.
  private func isAllowed(_ value: ArraySlice<UInt8>) -> Bool {
    // In UTF-8, the code points beyond U+00FF begin with these bytes.
    value.allSatisfy { ($0 == 9 || !ASCII.isControl($0)) && (isFieldValue || $0 < 0xC4) }
  }

  private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(Token.isTokenCharacter)
  }

  /// HTTP whitespace of Fetch, which includes line breaks.
  private static func isSpace(_ byte: UInt8) -> Bool { ASCII.isWhitespace(byte) || byte == 10 || byte == 13 }

  private static func withoutTrailingSpace(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes[..<(bytes.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? bytes.startIndex)]
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
}
