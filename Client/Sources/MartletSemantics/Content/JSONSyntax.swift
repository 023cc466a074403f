/// The grammar of JSON (RFC 8259). It finds where bytes stop being JSON, which Foundation's decoder does not report on
/// Linux, and it quotes strings.
@_spi(Toolkit) public struct JSONSyntax {
  /// The position of the first byte that is not allowed there.
  public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// The number of the line, from 1.
    package let line: Int
    /// The number of the byte in its line, from 1.
    package let column: Int

    public var description: String { "line \(line), column \(column)" }
  }

  /// What may follow.
  private enum Expectation { case name, colon, value, commaOrEnd }

  /// The bytes of a string or word that have not been read yet.
  private var rest: ArraySlice<UInt8>

  /// Returns the first fault of a text, or the position after its last byte if it is cut off; nil for valid JSON.
  ///
  /// It checks the grammar (RFC 8259 §2), not the encoding of strings. It accepts any depth of nesting.
  public static func fault(in text: some Collection<UInt8>) -> Fault? {
    let bytes = Array(text)
    guard let index = indexOfFault(in: bytes) else { return nil }
    let before = bytes[..<index]
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return Fault(line: 1 + before.count { $0 == UInt8(ascii: "\n") }, column: 1 + index - lineStart)
  }

  /// Reads one value, and the white space around it. Open objects and arrays are kept in an array, so that deep nesting
  /// cannot exhaust the stack.
  private static func indexOfFault(in bytes: [UInt8]) -> Int? {
    var closings: [UInt8] = []
    var expected = Expectation.value
    var isAtOpening = false
    var tokens = JSONTokens(bytes)
    while let (kind, range) = tokens.nextVisible() {
      let first = bytes[range.lowerBound]
      switch kind {
      case .opening where expected == .value:
        closings.append(first == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        expected = first == UInt8(ascii: "{") ? .name : .value
      case .closing where (expected == .commaOrEnd || isAtOpening) && first == closings.last:
        closings.removeLast()
        expected = .commaOrEnd
      case .comma where expected == .commaOrEnd && !closings.isEmpty:
        expected = closings.last == UInt8(ascii: "}") ? .name : .value
      case .colon where expected == .colon: expected = .value
      case .string where expected == .name || expected == .value, .word where expected == .value:
        var syntax = JSONSyntax(rest: bytes[range])
        guard kind == .string ? syntax.readString() : syntax.readWord() else { return syntax.rest.startIndex }
        expected = expected == .name ? .colon : .commaOrEnd
      default: return range.lowerBound
      }
      isAtOpening = kind == .opening
    }
    return expected == .commaOrEnd && closings.isEmpty ? nil : bytes.count
  }

  /// Reads a string (RFC 8259 §7).
  private mutating func readString() -> Bool {
    rest.removeFirst()
    while let byte = rest.first, byte >= 0x20 {
      rest.removeFirst()
      if byte == UInt8(ascii: "\"") { return true }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard let escaped = rest.first, #""\/bfnrtu"#.utf8.contains(escaped) else { return false }
      rest.removeFirst()
      guard escaped == UInt8(ascii: "u") else { continue }
      for _ in 0..<4 {
        guard let digit = rest.first, ASCII.hexadecimalValue(digit) != nil else { return false }
        rest.removeFirst()
      }
    }
    return false
  }

  /// Reads a literal (RFC 8259 §3) or a number.
  private mutating func readWord() -> Bool {
    let isRead =
      switch rest.first {
      case UInt8(ascii: "t"): read("true")
      case UInt8(ascii: "f"): read("false")
      case UInt8(ascii: "n"): read("null")
      default: readNumber()
      }
    return isRead && rest.isEmpty
  }

  /// Reads a number (RFC 8259 §6).
  private mutating func readNumber() -> Bool {
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")), !readDigits() { return false }
    if take(UInt8(ascii: ".")), !readDigits() { return false }
    guard take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) else { return true }
    _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
    return readDigits()
  }

  private mutating func readDigits() -> Bool {
    let count = rest.count
    rest = rest.drop(while: ASCII.isDigit)
    return rest.count < count
  }

  private mutating func read(_ word: StaticString) -> Bool {
    word.withUTF8Buffer { word in word.allSatisfy { take($0) } }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard rest.first == byte else { return false }
    rest.removeFirst()
    return true
  }
}

extension JSONSyntax {
  /// The text as a string of JSON (RFC 8259 §7).
  @_spi(Toolkit) public static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..<" ":
        result += "\\u" + scalar.value.digits(4, radix: 16)
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
