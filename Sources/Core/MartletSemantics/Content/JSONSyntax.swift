/// The grammar of JSON (RFC 8259). It finds where bytes stop being JSON, which Foundation's decoder does not report on
/// Linux, and it quotes strings.
package struct JSONSyntax {
  /// The position of the first byte that is not allowed there.
  package struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// The number of the line, from 1.
    package let line: Int
    /// The number of the byte in its line, from 1.
    package let column: Int

    package var description: String { "line \(line), column \(column)" }
  }

  private let bytes: [UInt8]
  private var index = 0

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// Returns the first fault of a text, or the position after its last byte if it is cut off; nil for valid JSON.
  ///
  /// It checks the grammar (RFC 8259 §2), not the encoding of strings. It accepts any depth of nesting.
  package static func fault(in text: some Collection<UInt8>) -> Fault? {
    var syntax = JSONSyntax(bytes: Array(text))
    guard !syntax.readText() else { return nil }
    let before = syntax.bytes[..<syntax.index]
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return Fault(line: 1 + before.count { $0 == UInt8(ascii: "\n") }, column: 1 + syntax.index - lineStart)
  }

  /// Reads one value, and the white space around it. Open objects and arrays are kept in an array, so that deep nesting
  /// cannot exhaust the stack.
  private mutating func readText() -> Bool {
    var closings: [UInt8] = []
    var expectsValue = true
    skipWhiteSpace()
    while true {
      if expectsValue {
        if closings.last == UInt8(ascii: "}"), !readName() { return false }
        if let closing = readOpening() {
          closings.append(closing)
          skipWhiteSpace()
          expectsValue = next != closing
        } else {
          guard readScalar() else { return false }
          expectsValue = false
        }
      } else if let closing = closings.last {
        if take(closing) {
          closings.removeLast()
        } else if take(UInt8(ascii: ",")) {
          expectsValue = true
        } else {
          return false
        }
      } else {
        return next == nil
      }
      skipWhiteSpace()
    }
  }

  /// Reads the beginning of an object or an array. Returns the bracket that closes it.
  private mutating func readOpening() -> UInt8? {
    if take(UInt8(ascii: "{")) { return UInt8(ascii: "}") }
    return take(UInt8(ascii: "[")) ? UInt8(ascii: "]") : nil
  }

  /// Reads the name of a member and its colon (RFC 8259 §4).
  private mutating func readName() -> Bool {
    guard next == UInt8(ascii: "\""), readString() else { return false }
    skipWhiteSpace()
    guard take(UInt8(ascii: ":")) else { return false }
    skipWhiteSpace()
    return true
  }

  private mutating func readScalar() -> Bool {
    switch next {
    case UInt8(ascii: "\""): readString()
    case UInt8(ascii: "t"): read("true")
    case UInt8(ascii: "f"): read("false")
    case UInt8(ascii: "n"): read("null")
    default: readNumber()
    }
  }

  /// Reads a string (RFC 8259 §7).
  private mutating func readString() -> Bool {
    index += 1
    while let byte = next, byte >= 0x20 {
      index += 1
      if byte == UInt8(ascii: "\"") { return true }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard let escaped = next, #""\/bfnrtu"#.utf8.contains(escaped) else { return false }
      index += 1
      guard escaped == UInt8(ascii: "u") else { continue }
      for _ in 0..<4 {
        guard let digit = next, Character(Unicode.Scalar(digit)).isHexDigit else { return false }
        index += 1
      }
    }
    return false
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
    let start = index
    while let byte = next, ASCII.isDigit(byte) { index += 1 }
    return index > start
  }

  private mutating func read(_ word: StaticString) -> Bool {
    word.withUTF8Buffer { word in word.allSatisfy { take($0) } }
  }

  private mutating func skipWhiteSpace() {
    while let byte = next, [9, 10, 13, 32].contains(byte) { index += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    index += 1
    return true
  }

  private var next: UInt8? { index < bytes.count ? bytes[index] : nil }
}

extension JSONSyntax {
  /// The text as a string of JSON (RFC 8259 §7).
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
