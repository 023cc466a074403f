extension StructuredField.Item: StructuredFieldValue {
  public init(parsing text: String) throws(StructuredField.SyntaxError) {
    self = try StructuredFieldParser.parse(text) { parser throws(StructuredField.SyntaxError) in try parser.item() }
  }

  public func serialized() throws(StructuredField.SyntaxError) -> String {
    try value.serialized() + parameters.serialized()
  }
}

extension StructuredField.List: StructuredFieldValue {
  public init(parsing text: String) throws(StructuredField.SyntaxError) {
    self = try StructuredFieldParser.parse(text) { parser throws(StructuredField.SyntaxError) in try parser.list() }
  }

  public func serialized() throws(StructuredField.SyntaxError) -> String {
    var texts: [String] = []
    for member in members { texts.append(try member.serialized()) }
    return texts.joined(separator: ", ")
  }
}

extension StructuredField.Dictionary: StructuredFieldValue {
  public init(parsing text: String) throws(StructuredField.SyntaxError) {
    self = try StructuredFieldParser.parse(text) { parser throws(StructuredField.SyntaxError) in
      try parser.dictionary()
    }
  }

  public func serialized() throws(StructuredField.SyntaxError) -> String {
    var texts: [String] = []
    for (key, member) in self {
      let key = try StructuredField.checkedKey(key)
      // A member that is true has only its parameters (§4.1.2).
      if case .item(let item) = member, item.value == .boolean(true) {
        texts.append(key + (try item.parameters.serialized()))
      } else {
        texts.append(key + "=" + (try member.serialized()))
      }
    }
    return texts.joined(separator: ", ")
  }
}

extension StructuredField.InnerList {
  /// Returns the inner list as it is sent, with its parameters (RFC 9651 §4.1.1.1), as the base of a signature
  /// contains it.
  ///
  /// - Throws: ``StructuredField/SyntaxError`` if a value cannot be sent.
  public func serialized() throws(StructuredField.SyntaxError) -> String {
    var texts: [String] = []
    for item in items { texts.append(try item.serialized()) }
    return "(" + texts.joined(separator: " ") + ")" + (try parameters.serialized())
  }
}

extension StructuredField.Member {
  /// Returns the member as it is sent.
  ///
  /// - Throws: ``StructuredField/SyntaxError`` if a value cannot be sent.
  public func serialized() throws(StructuredField.SyntaxError) -> String {
    switch self {
    case .item(let item): try item.serialized()
    case .innerList(let list): try list.serialized()
    }
  }
}

extension StructuredField.Parameters {
  /// Returns the parameters as they are sent, each after a semicolon (RFC 9651 §4.1.1.2).
  ///
  /// - Throws: ``StructuredField/SyntaxError`` if a key or a value cannot be sent.
  public func serialized() throws(StructuredField.SyntaxError) -> String {
    var text = ""
    for (key, value) in self {
      text += ";" + (try StructuredField.checkedKey(key))
      if value != .boolean(true) { text += "=" + (try value.serialized()) }
    }
    return text
  }
}

extension StructuredField.BareItem {
  /// Returns the value as it is sent, without parameters (RFC 9651 §4.1.3.1).
  ///
  /// - Throws: ``StructuredField/SyntaxError`` if it cannot be sent.
  public func serialized() throws(StructuredField.SyntaxError) -> String {
    switch self {
    case .integer(let value): return try Self.integer(value)
    case .decimal(let number): return try number.serialized()
    case .string(let text):
      guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
        throw StructuredField.SyntaxError(
          description: "a string has a character that is not printable ASCII: use a display string")
      }
      return QuotedString.quoted(text)
    case .token(let text):
      guard let first = text.utf8.first, StructuredField.Characters.beginToken(first),
        text.utf8.allSatisfy(StructuredField.Characters.areInTokens)
      else {
        throw StructuredField.SyntaxError(
          description: "a token has a character that is not allowed in it: use a string")
      }
      return text
    case .bytes(let data): return ":\(data.base64EncodedString()):"
    case .boolean(let value): return value ? "?1" : "?0"
    case .date(let seconds): return "@" + (try Self.integer(seconds))
    case .displayString(let text): return Self.displayString(text)
    }
  }

  private static func integer(_ value: Int64) throws(StructuredField.SyntaxError) -> String {
    guard value.magnitude < 1_000_000_000_000_000 else {
      throw StructuredField.SyntaxError(description: "\(value) has more than 15 digits")
    }
    return String(value)
  }

  /// §4.1.11
  private static func displayString(_ text: String) -> String {
    var bytes = Array("%\"".utf8)
    for byte in text.utf8 {
      if (0x20...0x7E).contains(byte), byte != UInt8(ascii: "%"), byte != UInt8(ascii: "\"") {
        bytes.append(byte)
      } else {
        bytes.append(UInt8(ascii: "%"))
        for digit in [byte >> 4, byte & 15] { bytes.append(digit < 10 ? 48 + digit : 87 + digit) }
      }
    }
    return String(decoding: bytes, as: UTF8.self) + "\""
  }
}

extension StructuredField.DecimalNumber {
  /// §4.1.5
  fileprivate func serialized() throws(StructuredField.SyntaxError) -> String {
    guard thousandths.magnitude < 1_000_000_000_000_000 else {
      throw StructuredField.SyntaxError(description: "a decimal has more than 12 digits before the point")
    }
    let (whole, fraction) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
    var digits = String(fraction + 1000).dropFirst()
    while digits.count > 1, digits.last == "0" { digits.removeLast() }
    return (thousandths < 0 ? "-" : "") + "\(whole).\(digits)"
  }
}

extension StructuredField {
  /// §4.1.1.3
  fileprivate static func checkedKey(_ key: String) throws(SyntaxError) -> String {
    guard let first = key.utf8.first, Characters.beginKey(first), key.utf8.allSatisfy(Characters.areInKeys) else {
      let name = String(reflecting: key)
      throw SyntaxError(
        description:
          "the key \(name) is not allowed: use lower-case letters, digits and _-.*, and begin with a letter or *")
    }
    return key
  }
}
