/// The token of RFC 9110 §5.6.2, the syntax of field names, methods and parameter names.
package enum Token {
  package static func isValid(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy(isTokenCharacter)
  }

  package static func isTokenCharacter(_ byte: UInt8) -> Bool {
    (byte & 64 == 0 ? lowerCharacters : upperCharacters) &>> UInt64(byte & 63) & 1 == 1 && byte < 128
  }

  /// A bit for each character from 0 to 63: the digits and `!#$%&'*+-.`
  private static let lowerCharacters: UInt64 = 0x03FF_6CFA_0000_0000
  /// A bit for each character from 64 to 127: the letters and `^_`|~`
  private static let upperCharacters: UInt64 = 0x57FF_FFFF_C7FF_FFFE
}

/// The quoted-string of RFC 9110 §5.6.4, for text with characters that a token must not contain.
package enum QuotedString {
  /// Returns the text of a token or a quoted string.
  ///
  /// Lenient: a quoted string without a closing quote extends to the end; text that does not begin with a quote is
  /// returned unchanged. Text after the closing quote is ignored.
  package static func unquoted(_ text: Substring) -> String {
    guard text.utf8.first == UInt8(ascii: "\"") else { return String(text) }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in text.utf8.dropFirst() {
      if isEscaped {
        bytes.append(byte)
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        break
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the text as a quoted string, with quotes and backslashes escaped.
  ///
  /// Control characters are kept: ``HTTPFields`` refuses a value that contains them.
  package static func quoted(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the text unchanged if it is a token, otherwise as a quoted string.
  package static func tokenOrQuoted(_ text: some StringProtocol) -> String {
    Token.isValid(text) ? String(text) : quoted(text)
  }
}

/// The list syntax of RFC 9110 §5.6.1 (`#rule`): elements separated by commas. Also used for parameters, which are
/// separated by semicolons.
@_spi(Toolkit) public enum FieldList {
  /// Returns the elements without surrounding white space. Separators in quoted strings do not count, and empty
  /// elements are ignored (§5.6.1.2). A quoted string without a closing quote extends to the end of the value.
  public static func elements(of value: Substring, separator: UInt8 = UInt8(ascii: ",")) -> [Substring] {
    var elements: [Substring] = []
    var start = value.startIndex
    var isQuoted = false
    var isEscaped = false

    func add(upTo end: Substring.Index) {
      let element = ASCII.trimmed(value[start..<end])
      if !element.isEmpty { elements.append(element) }
    }

    for index in value.utf8.indices {
      let byte = value.utf8[index]
      if isEscaped {
        isEscaped = false
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if byte == separator, !isQuoted {
        add(upTo: index)
        start = value.utf8.index(after: index)
      }
    }
    add(upTo: value.endIndex)
    return elements
  }
}

/// A lossless text representation for the values of cookies, whose bytes must be returned unchanged.
///
/// A server may put bytes into a cookie that are not UTF-8, and expects the same bytes back. In text, such a byte is
/// represented by one of the last 128 code points of the last private plane of Unicode, U+10FF80 to U+10FFFF; the byte
/// is the low byte of the code point.
@_spi(Toolkit) public enum FieldOctets {
  /// Returns the bytes as text, decoded as UTF-8 if they are valid. Otherwise every non-ASCII byte becomes a private
  /// code point. That also applies if the UTF-8 contains such a code point, so that different bytes never have the same
  /// text.
  public static func text(_ bytes: some Collection<UInt8>) -> String {
    if let text = String(validating: bytes, as: UTF8.self), !hasOctets(text) { return text }
    var text = String.UnicodeScalarView()
    for byte in bytes {
      text.append(byte < 128 ? Unicode.Scalar(byte) : Unicode.Scalar(0x10_FF00 + UInt32(byte)) ?? "\u{FFFD}")
    }
    return String(text)
  }

  /// Returns the bytes that the text represents.
  public static func bytes(_ text: String) -> [UInt8] {
    guard hasOctets(text) else { return Array(text.utf8) }
    return text.unicodeScalars.flatMap {
      isOctet($0) ? [UInt8(truncatingIfNeeded: $0.value)] : Array(UTF8.encode($0) ?? .init())
    }
  }

  /// Returns the number of bytes that the text represents.
  package static func count(_ text: some StringProtocol) -> Int {
    guard hasOctets(text) else { return text.utf8.count }
    return text.unicodeScalars.reduce(0) { $0 + (isOctet($1) ? 1 : UTF8.width($1)) }
  }

  /// Whether the UTF-8 of the text differs from the bytes that it represents.
  public static func hasOctets(_ text: some StringProtocol) -> Bool {
    // Most texts are visible ASCII, which is found eight bytes at a time.
    let isPlain = text.utf8.withContiguousStorageIfAvailable { ByteScan.isPlain(UnsafeRawBufferPointer($0)) }
    if isPlain == true { return false }
    // Only code points of that plane begin with this byte.
    return text.utf8.contains(0xF4) && text.unicodeScalars.contains(where: isOctet)
  }

  private static func isOctet(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x10_FF80 }
}
