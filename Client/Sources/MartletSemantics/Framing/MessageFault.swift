/// The reason why an HTTP/1 response is invalid (RFC 9112). The description names the rule, and never includes a part
/// of the message.
package enum MessageFault: Error, Sendable, Hashable, CaseIterable {
  /// The first line is not `HTTP-version SP status-code SP reason-phrase` (§4).
  case statusLine
  /// The status code is not a number from 100 to 999 (§4, RFC 9110 §15).
  case statusCode
  /// CR, NUL or another control character is in a place where it is not allowed (§2.2, RFC 9110 §5.5).
  case controlCharacter
  /// There is white space between the status line and the first field line (§2.2).
  case leadingWhitespace
  /// A field line has no colon, or no name before it (§5).
  case fieldLine
  /// A field name is not a token, or is followed by white space (§5.1).
  case fieldName
  /// A field that frames the message is folded (§5.2). Some recipients read it as one value, others as two.
  case foldedFraming
  /// `Content-Length` is not a decimal number, or larger than 2^63 − 1 (§6.3).
  case contentLength
  /// Several values of `Content-Length` differ (§6.3).
  case contentLengths
  /// `Transfer-Encoding` is not exactly one `chunked` (§6.1, §7.1). No other coding was offered in `TE`.
  case transferEncoding
  /// A chunk's size is not a hexadecimal number of 1 to 16 digits below 2^63, or is followed by something other than an
  /// extension (§7.1).
  case chunkSize
  /// The extensions of a chunk contain a control character, or are too long for the amount of data (§7.1.1).
  case chunkExtension
  /// No line break follows a chunk's data (§7.1).
  case chunkEnd
  /// More than ``ResponseHeadReader/informationalLimit`` heads come before the final one (RFC 9110 §15.2).
  case informationalHeads
  /// A 101 was received for a request without `Upgrade` (RFC 9110 §7.8).
  case unaskedUpgrade
}

extension MessageFault: CustomStringConvertible {
  package var description: String {
    switch self {
    case .statusLine: "the status line is invalid: expected 'HTTP/1.1 200 reason' (RFC 9112 §4)"
    case .statusCode: "the status code is not a number from 100 to 999 (RFC 9112 §4)"
    case .controlCharacter: "a header or trailer line contains a control character (RFC 9112 §2.2)"
    case .leadingWhitespace: "there is white space before the first field (RFC 9112 §2.2)"
    case .fieldLine: "a header or trailer line is not a field: expected 'name: value' (RFC 9112 §5)"
    case .fieldName: "a field name is not a token (RFC 9112 §5.1)"
    case .foldedFraming: "Content-Length or Transfer-Encoding is folded (RFC 9112 §5.2)"
    case .contentLength: "the Content-Length is not a valid number (RFC 9112 §6.3)"
    case .contentLengths: "several values of Content-Length differ (RFC 9112 §6.3)"
    case .transferEncoding: "the Transfer-Encoding is not 'chunked' (RFC 9112 §6.1)"
    case .chunkSize: "a chunk's size is not a hexadecimal number of 1 to 16 digits (RFC 9112 §7.1)"
    case .chunkExtension: "the extensions of a chunk are invalid or too long (RFC 9112 §7.1.1)"
    case .chunkEnd: "a chunk does not end where its size says (RFC 9112 §7.1)"
    case .informationalHeads:
      "more than \(ResponseHeadReader.informationalLimit) informational responses come before the response "
        + "(RFC 9110 §15.2)"
    case .unaskedUpgrade: "the response switches to a protocol that the request did not ask for (RFC 9110 §7.8)"
    }
  }
}
