import MartletSemantics

/// Reads the head of a request (RFC 9112 §2–5).
enum RequestHeadReader {
  /// The most bytes of a head. A larger one is answered with 431.
  private static let limit = 256 << 10

  /// The next request's head, nil if the connection ended before one began.
  static func read(from buffer: WireBuffer, connection: Int) throws(WireError) -> ReceivedRequest? {
    var start = try buffer.line(upTo: limit)
    // A client may send an empty line after a body by mistake (RFC 9112 §2.2).
    while start == "" { start = try buffer.line(upTo: limit) }
    guard let start else { return nil }
    let parts = start.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[1].isEmpty, let method = HTTPMethod(rawValue: String(parts[0])) else {
      throw .refused(.badRequest, "the request line is not 'method target version'")
    }
    guard let version = HTTPVersion(rawValue: String(parts[2])), version <= .http1_1 else {
      throw .refused(.httpVersionNotSupported, "this server speaks HTTP/1.0 and HTTP/1.1")
    }
    return ReceivedRequest(
      method: method, target: String(parts[1]), version: version, fields: try fields(from: buffer),
      connection: connection)
  }

  /// The lines up to an empty one: a head's fields, or the trailers of a chunked body.
  static func fields(from buffer: WireBuffer) throws(WireError) -> HTTPFields {
    var fields: HTTPFields = [:]
    var rest = limit
    while true {
      guard let line = try buffer.line(upTo: rest) else { throw .peerGone }
      if line.isEmpty { return fields }
      rest -= line.utf8.count
      guard let colon = line.firstIndex(of: ":"), Token.isValid(line[..<colon]) else {
        throw .refused(.badRequest, "a field line is not 'name: value' (RFC 9112 §5)")
      }
      let name = FieldName(unchecked: String(line[..<colon]))
      fields.appendReceived(name, String(ASCII.trimmed(line[line.index(after: colon)...])))
    }
  }
}
