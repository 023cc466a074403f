/// The quoted-string of RFC 9110 §5.6.4: text that may hold what a token may not.
package enum QuotedString {
  /// The text that a token or a quoted string stands for.
  ///
  /// Forgiving: a quoted string that does not end stands for all that follows; text that does not begin with a quote
  /// stands for itself. What follows the closing quote is ignored.
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

  /// The text as a quoted string, quotes and backslashes escaped.
  ///
  /// Control characters stay as they are: ``HTTPFields`` refuses the value that holds them.
  package static func quoted(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The text as a token where it is one, as a quoted string where it is not.
  package static func tokenOrQuoted(_ text: some StringProtocol) -> String {
    Token.isValid(text) ? String(text) : quoted(text)
  }
}
