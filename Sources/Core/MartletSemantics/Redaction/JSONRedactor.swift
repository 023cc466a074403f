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
    var index = 0
    while index < bytes.count {
      guard bytes[index] == UInt8(ascii: "\"") else {
        output.append(bytes[index])
        index += 1
        continue
      }
      let end = Self.endOfString(bytes, from: index)
      let colon = Self.skipSpace(bytes, from: end)
      output += withoutSecrets(bytes[index..<end])
      defer { index = max(index, end) }
      guard colon < bytes.count, bytes[colon] == UInt8(ascii: ":") else { continue }
      let value = Self.skipSpace(bytes, from: colon + 1)
      guard hides(bytes[index..<end], before: bytes[value...]) else { continue }
      output += bytes[end..<value]
      let valueEnd = Self.endOfValue(bytes, from: value)
      let isSecret = value < bytes.count && !"tfn".utf8.contains(bytes[value])
      output += isSecret ? replacement[...] : bytes[value..<valueEnd]
      index = valueEnd
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

  private static func skipSpace(_ bytes: [UInt8], from start: Int) -> Int {
    bytes[min(start, bytes.count)...].firstIndex { ![9, 10, 13, 32].contains($0) } ?? bytes.count
  }

  /// Returns the index after the closing quotation mark, or the end of the text.
  private static func endOfString(_ bytes: [UInt8], from start: Int) -> Int {
    var index = start + 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\\"): index += 2
      case UInt8(ascii: "\""): return index + 1
      default: index += 1
      }
    }
    return bytes.count
  }

  private static func endOfValue(_ bytes: [UInt8], from start: Int) -> Int {
    var depth = 0
    var index = start
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        index = endOfString(bytes, from: index)
        if depth == 0 { return index }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return index }
        depth -= 1
        if depth == 0 { return index + 1 }
      case UInt8(ascii: ","), 9, 10, 13, 32: if depth == 0 { return index }
      default: break
      }
      index += 1
    }
    return bytes.count
  }
}
