/// Replaces the values of JSON members (RFC 8259 §4) with secret names, and copies all other bytes.
///
/// Strings that are http or https URLs are redacted as URLs. The JSON is only scanned, not parsed, so that truncated
/// texts and several values in a row can be redacted too. `true`, `false` and `null` are not secret.
struct JSONRedactor {
  private let redaction: Redaction

  init(_ redaction: Redaction) { self.redaction = redaction }

  func redacted(_ text: Data) -> Data {
    let bytes = Array(text)
    let replacement = Array("\"\(redaction.placeholder)\"".utf8)
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var tokens = JSONTokens(bytes)
    while let (kind, range) = tokens.next() {
      output += kind == .string ? withoutSecrets(bytes[range]) : bytes[range]
      var ahead = tokens
      guard kind == .string, let colon = ahead.nextVisible(), colon.kind == .colon else { continue }
      let value = ahead.nextVisible()?.range.lowerBound ?? bytes.count
      guard hides(bytes[range], before: bytes[value...]) else { continue }
      output += bytes[range.upperBound..<value]
      let valueEnd = Self.endOfValue(bytes, from: value)
      let isSecret = value < bytes.count && !"tfn".utf8.contains(bytes[value])
      output += isSecret ? replacement[...] : bytes[value..<valueEnd]
      tokens = JSONTokens(bytes, from: valueEnd)
    }
    return Data(output)
  }

  private func hides(_ string: ArraySlice<UInt8>, before value: ArraySlice<UInt8>) -> Bool {
    let name =
      string.contains(UInt8(ascii: "\\"))
      ? (try? JSONDecoder().decode(String.self, from: Data(string))) ?? ""
      : String(decoding: string.dropFirst().dropLast(), as: UTF8.self)
    let quote = UInt8(ascii: "\"")
    let start = value.prefix(40)  // Longer than any card number.
    let text = start.first == quote ? start.dropFirst().prefix { $0 != quote } : start.prefix(while: ASCII.isDigit)
    return redaction.hides(name: name, value: String(decoding: text, as: UTF8.self))
  }

  /// Redacts a string that is a URL. It may be truncated, even within an escape.
  private func withoutSecrets(_ string: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard string.starts(with: "\"http".utf8) else { return string }
    let text = Self.unescaped(String(decoding: string.dropFirst(), as: UTF8.self))
    guard text.hasPrefix("http://") || text.hasPrefix("https://") else { return string }
    let isClosed = text.hasSuffix("\"")
    let redacted = redaction.redacted(reference: isClosed ? String(text.dropLast()) : text)
    return "\"\(redacted)\(isClosed ? "\"" : "")".utf8.map { $0 }[...]
  }

  /// Returns the text with the escapes (RFC 8259 §7) of URL delimiters decoded: encoders for web pages escape `&` and
  /// `=`. Other escapes are kept, so that the text stays valid within a string.
  private static func unescaped(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
    var plain = ""
    var rest = text[...]
    while let escape = rest.utf8.firstIndex(of: UInt8(ascii: "\\")) {
      plain += rest[..<escape]
      rest = rest[escape...]
      let digits = rest.utf8.dropFirst(2).prefix(4)
      if rest.hasPrefix("\\/") {
        plain += "/"
        rest = rest.dropFirst(2)
      } else if rest.hasPrefix("\\u"), digits.count == 4, let code = UInt8(String(Substring(digits)), radix: 16),
        "&=?#;:/@".utf8.contains(code)
      {
        plain.unicodeScalars.append(Unicode.Scalar(code))
        rest = rest.dropFirst(6)
      } else {
        plain += rest.prefix(2)
        rest = rest.dropFirst(2)
      }
    }
    return plain + rest
  }

  private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
    var depth = 0
    for (kind, range) in JSONTokens(bytes, from: start) {
      switch kind {
      case .string: if depth == 0 { return range.upperBound }
      case .opening: depth += 1
      case .closing:
        if depth == 0 { return range.lowerBound }
        depth -= 1
        if depth == 0 { return range.upperBound }
      case .comma, .whiteSpace: if depth == 0 { return range.lowerBound }
      case .colon, .word: break
      }
    }
    return bytes.count
  }
}
