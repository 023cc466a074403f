/// Why an HTTP/1 response is no valid message (RFC 9112). Its description names the rule, and never shows what the message holds.
package enum MessageFault: Error, Sendable, Hashable, CaseIterable {
  /// The first line is not `HTTP-version SP status-code SP reason-phrase` (§4).
  case statusLine
  /// The message's version is none that this connection speaks (§2.3).
  case version
  /// The status code is not a number from 100 to 999 (§4, RFC 9110 §15).
  case statusCode
  /// CR, NUL or another control character stands where it must not (§2.2, RFC 9110 §5.5).
  case controlCharacter
  /// White space stands between the status line and the first field line (§2.2).
  case leadingWhitespace
  /// A line has no colon, or no name before it (§5).
  case fieldLine
  /// A field's name is no token, or is followed by white space (§5.1).
  case fieldName
  /// A field that frames the message goes on in the next line (§5.2). Whether it is read as one value or as two depends on the
  /// recipient.
  case foldedFraming
  /// `Content-Length` is no decimal number, or larger than 2^63 − 1 (§6.3).
  case contentLength
  /// Several values of `Content-Length` differ (§6.3).
  case contentLengths
  /// `Transfer-Encoding` names something else than `chunked`, once (§6.1, §7.1). Nothing else was offered in `TE`.
  case transferEncoding
  /// A 101 answers a request without `Upgrade` (RFC 9110 §7.8).
  case unaskedUpgrade
}

extension MessageFault: CustomStringConvertible {
  package var description: String {
    switch self {
    case .statusLine: "the status line is not 'HTTP/1.1 200 reason' (RFC 9112 §4)"
    case .version: "the response's version of HTTP is not the connection's (RFC 9112 §2.3)"
    case .statusCode: "the status code is not a number from 100 to 999 (RFC 9112 §4)"
    case .controlCharacter: "a line of the head or the trailers holds a control character (RFC 9112 §2.2)"
    case .leadingWhitespace: "white space stands before the first field (RFC 9112 §2.2)"
    case .fieldLine: "a line of the head or the trailers is no field (RFC 9112 §5)"
    case .fieldName: "the name of a field is no token (RFC 9112 §5.1)"
    case .foldedFraming: "the field that frames the body is folded (RFC 9112 §5.2)"
    case .contentLength: "the Content-Length is no valid number (RFC 9112 §6.3)"
    case .contentLengths: "several values of Content-Length differ (RFC 9112 §6.3)"
    case .transferEncoding: "the Transfer-Encoding is not 'chunked' (RFC 9112 §6.1)"
    case .unaskedUpgrade: "the response switches to a protocol that the request did not ask for (RFC 9110 §7.8)"
    }
  }
}
