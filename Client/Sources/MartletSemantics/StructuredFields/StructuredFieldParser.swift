/// Parses structured fields (RFC 9651 §4.2). It is strict, as the RFC requires: if recipients guess, they understand
/// the same field differently, which attackers use.
struct StructuredFieldParser {
  typealias Failure = StructuredField.SyntaxError

  private let bytes: [UInt8]
  private var position = 0

  private init(_ text: String) { bytes = Array(text.utf8) }

  /// Parses a whole field with one of the functions below (§4.2).
  static func parse<Value>(
    _ text: String, _ value: (inout StructuredFieldParser) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    var parser = StructuredFieldParser(text)
    parser.skipSpaces()
    let parsed = try value(&parser)
    parser.skipSpaces()
    guard parser.next == nil else { throw parser.failure("is not expected") }
    return parsed
  }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func skipSpaces() { while skip(" ") {} }

  private mutating func skipWhitespace() { while let byte = next, ASCII.isWhitespace(byte) { position += 1 } }

  /// An error about the next byte. The byte itself is not shown: it may be a part of a secret.
  private func failure(_ problem: String) -> Failure {
    Failure(description: next == nil ? "ends too early" : "the character at position \(position + 1) \(problem)")
  }
}

// MARK: - Lists and dictionaries

extension StructuredFieldParser {
  /// §4.2.1
  mutating func list() throws(Failure) -> StructuredField.List {
    var list = StructuredField.List()
    while next != nil {
      list.members.append(try member())
      guard try goesOn() else { break }
    }
    return list
  }

  /// §4.2.2
  mutating func dictionary() throws(Failure) -> StructuredField.Dictionary {
    var dictionary = StructuredField.Dictionary()
    while next != nil {
      let key = try key()
      let member: StructuredField.Member =
        skip("=") ? try member() : .item(StructuredField.Item(.boolean(true), parameters: try parameters()))
      dictionary[key] = member
      guard try goesOn() else { break }
    }
    return dictionary
  }

  /// Reads a comma with white space around it; false at the end.
  private mutating func goesOn() throws(Failure) -> Bool {
    skipWhitespace()
    guard next != nil else { return false }
    guard skip(",") else { throw failure("is not a comma") }
    skipWhitespace()
    guard next != nil else { throw Failure(description: "ends with a comma") }
    return true
  }

  /// An item or an inner list (§4.2.1.1).
  private mutating func member() throws(Failure) -> StructuredField.Member {
    next == UInt8(ascii: "(") ? .innerList(try innerList()) : .item(try item())
  }

  /// §4.2.1.2
  private mutating func innerList() throws(Failure) -> StructuredField.InnerList {
    _ = skip("(")
    var items: [StructuredField.Item] = []
    while true {
      skipSpaces()
      if skip(")") { return StructuredField.InnerList(items, parameters: try parameters()) }
      items.append(try item())
      guard next == UInt8(ascii: " ") || next == UInt8(ascii: ")") else {
        throw failure("is neither a space nor the end of the inner list")
      }
    }
  }

  /// §4.2.3
  mutating func item() throws(Failure) -> StructuredField.Item {
    let value = try bareItem()
    return StructuredField.Item(value, parameters: try parameters())
  }

  /// §4.2.3.2
  private mutating func parameters() throws(Failure) -> StructuredField.Parameters {
    var parameters = StructuredField.Parameters()
    while skip(";") {
      skipSpaces()
      let key = try key()
      parameters[key] = skip("=") ? try bareItem() : .boolean(true)
    }
    return parameters
  }

  /// §4.2.3.3
  private mutating func key() throws(Failure) -> String {
    guard let first = next, StructuredField.Characters.beginKey(first) else { throw failure("cannot begin a key") }
    return text(while: StructuredField.Characters.areInKeys)
  }

  private mutating func text(while isPart: (UInt8) -> Bool) -> String {
    let start = position
    while let byte = next, isPart(byte) { position += 1 }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }
}

// MARK: - Bare items

extension StructuredFieldParser {
  /// §4.2.3.1
  private mutating func bareItem() throws(Failure) -> StructuredField.BareItem {
    switch next {
    case UInt8(ascii: "\"")?: return .string(try string())
    case UInt8(ascii: ":")?: return .bytes(try byteSequence())
    case UInt8(ascii: "?")?: return .boolean(try boolean())
    case UInt8(ascii: "@")?: return .date(seconds: try date())
    case UInt8(ascii: "%")?: return .displayString(try displayString())
    case let byte? where byte == UInt8(ascii: "-") || ASCII.isDigit(byte): return try number()
    case let byte? where StructuredField.Characters.beginToken(byte):
      return .token(text(while: StructuredField.Characters.areInTokens))
    default: throw failure("begins no value")
    }
  }

  /// §4.2.4
  private mutating func number() throws(Failure) -> StructuredField.BareItem {
    let isNegative = skip("-")
    guard let first = next, ASCII.isDigit(first) else { throw failure("is not a digit") }
    let sign: Int64 = isNegative ? -1 : 1
    let whole = text(while: ASCII.isDigit)
    guard skip(".") else {
      guard whole.utf8.count <= 15, let value = Int64(whole) else {
        throw Failure(description: "an integer has more than 15 digits")
      }
      return .integer(sign * value)
    }
    let fraction = text(while: ASCII.isDigit)
    guard whole.utf8.count <= 12 else {
      throw Failure(description: "a decimal has more than 12 digits before the point")
    }
    guard (1...3).contains(fraction.utf8.count),
      let value = Int64(whole + fraction + String(repeating: "0", count: 3 - fraction.utf8.count))
    else { throw Failure(description: "a decimal does not have one to three digits after the point") }
    return .decimal(StructuredField.DecimalNumber(thousandths: sign * value))
  }

  /// §4.2.5
  private mutating func string() throws(Failure) -> String {
    _ = skip("\"")
    var text: [UInt8] = []
    while let byte = next {
      if skip("\"") { return String(decoding: text, as: UTF8.self) }
      if skip("\\") {
        guard let escaped = next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
          throw failure("must not be escaped")
        }
        text.append(escaped)
      } else {
        guard (0x20...0x7E).contains(byte) else { throw failure("is not allowed in a string") }
        text.append(byte)
      }
      position += 1
    }
    throw Failure(description: "a string has no closing quote")
  }

  /// §4.2.7. Padding may be missing; other characters are errors.
  private mutating func byteSequence() throws(Failure) -> Data {
    _ = skip(":")
    let text = text { $0 != UInt8(ascii: ":") }
    guard skip(":") else { throw Failure(description: "a byte sequence has no closing colon") }
    let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
    let padding = text.utf8.count - digits.count
    guard digits.allSatisfy(StructuredField.Characters.areBase64), padding <= 2, digits.count % 4 != 1,
      text.utf8.suffix(padding).allSatisfy({ $0 == UInt8(ascii: "=") }),
      padding == 0 || text.utf8.count % 4 == 0,
      let data = Data(
        base64Encoded: String(decoding: digits, as: UTF8.self)
          + String(repeating: "=", count: (4 - digits.count % 4) % 4))
    else { throw Failure(description: "a byte sequence is not base64") }
    return data
  }

  /// §4.2.8
  private mutating func boolean() throws(Failure) -> Bool {
    _ = skip("?")
    if skip("1") { return true }
    guard skip("0") else { throw failure("is neither 0 nor 1") }
    return false
  }

  /// §4.2.9
  private mutating func date() throws(Failure) -> Int64 {
    _ = skip("@")
    guard let byte = next, byte == UInt8(ascii: "-") || ASCII.isDigit(byte) else { throw failure("begins no date") }
    guard case .integer(let seconds) = try number() else { throw Failure(description: "a date is not an integer") }
    return seconds
  }

  /// §4.2.10
  private mutating func displayString() throws(Failure) -> String {
    _ = skip("%")
    guard skip("\"") else { throw failure("is not a quote") }
    var text: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          throw Failure(description: "a display string is not UTF-8")
        }
        return string
      case UInt8(ascii: "%"):
        text.append(try encodedByte())
      case 0x20...0x7E: text.append(byte)
      default:
        position -= 1
        throw failure("is not allowed in a display string")
      }
    }
    throw Failure(description: "a display string has no closing quote")
  }

  /// Two hexadecimal digits in lower case.
  private mutating func encodedByte() throws(Failure) -> UInt8 {
    var value: UInt8 = 0
    for _ in 0..<2 {
      guard let byte = next, !(0x41...0x46).contains(byte), let digit = ASCII.hexadecimalValue(byte) else {
        throw failure("is not a hexadecimal digit in lower case")
      }
      value = value << 4 | digit
      position += 1
    }
    return value
  }
}

extension StructuredField {
  /// The characters of keys, tokens and base64.
  enum Characters {
    static func beginKey(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "*") }

    static func areInKeys(_ byte: UInt8) -> Bool {
      beginKey(byte) || ASCII.isDigit(byte) || [0x5F, 0x2D, 0x2E].contains(byte)  // _ - .
    }

    static func beginToken(_ byte: UInt8) -> Bool { ASCII.isLetter(byte) && byte < 128 || byte == UInt8(ascii: "*") }

    static func areInTokens(_ byte: UInt8) -> Bool {
      Token.isTokenCharacter(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }

    static func areBase64(_ byte: UInt8) -> Bool {
      byte < 128 && ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "+")
        || byte == UInt8(ascii: "/")
    }
  }
}
