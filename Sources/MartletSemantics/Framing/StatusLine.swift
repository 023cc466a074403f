/// The first line of a response (RFC 9112 §4): `HTTP-version SP status-code SP [ reason-phrase ]`.
///
/// Decisions where the RFC leaves a choice or others are lenient:
/// - The line may end with LF alone (§2.2 allows it).
/// - The space behind the status may be missing where there is no reason: some servers leave it out.
/// - A higher minor version of HTTP/1 is read as HTTP/1.1 (RFC 9110 §2.5).
/// - Everything else is refused: another case of `HTTP`, several spaces, white space before it, a status of other than three
///   digits or below 100, a control character in the reason.
package struct StatusLine: Sendable, Hashable {
  package let version: HTTPVersion
  package let status: Int

  /// Reads a line, with or without its end.
  package init(_ line: some Collection<UInt8>) throws(MessageFault) {
    let line = try FieldLine.content(of: line)
    guard line.count >= 12, line.starts(with: "HTTP/1.".utf8) else { throw .statusLine }
    let bytes = Array(line.prefix(13))
    guard ASCII.isDigit(bytes[7]), bytes[8] == 32 else { throw .statusLine }
    version = bytes[7] == UInt8(ascii: "0") ? .http1_0 : .http1_1
    let digits = bytes[9..<12]
    guard digits.allSatisfy(ASCII.isDigit) else { throw .statusCode }
    status = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    guard status >= 100 else { throw .statusCode }
    guard bytes.count == 12 || bytes[12] == 32 else { throw ASCII.isDigit(bytes[12]) ? .statusCode : .statusLine }
    guard line.allSatisfy({ $0 == 9 || !ASCII.isControl($0) }) else { throw .controlCharacter }
  }

  /// The line that libcurl makes of the head of an HTTP/2 response: `HTTP/2 200 `, for a connection that speaks it.
  package init(synthesised line: some Collection<UInt8>) throws(MessageFault) {
    let bytes = Array(try FieldLine.content(of: line))
    guard bytes.starts(with: "HTTP/".utf8) else { throw .statusLine }
    guard bytes.starts(with: "HTTP/2 ".utf8) else { throw .version }
    let digits = bytes.dropFirst(7).prefix { $0 != 32 }
    guard digits.count == 3, digits.allSatisfy(ASCII.isDigit), bytes.count <= 11 else { throw .statusCode }
    version = .http2
    status = digits.reduce(0) { $0 * 10 + Int($1 - 48) }
    guard status >= 100 else { throw .statusCode }
  }
}
