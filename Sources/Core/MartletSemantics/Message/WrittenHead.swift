/// The head of a request as it was written to a connection: with what the transport adds to the request's fields, such as
/// `Host`, `Accept-Encoding` and `Content-Length`.
public struct WrittenHead: Sendable, Hashable {
  /// The method.
  public let method: HTTPMethod
  /// The target, as in the request line or `:path`: `/orders?page=2`; with scheme and authority for a proxy that forwards the
  /// request (RFC 9112 §3.2).
  public let target: String
  /// The version of HTTP.
  public let version: HTTPVersion
  /// The fields, in the order in which they were written. Over HTTP/2, `Host` is the value of `:authority`.
  public let fields: HTTPFields

  /// Reads a head from the lines of an HTTP/1.1 request, or from lines of that form for HTTP/2.
  package init(lines: [UInt8]) {
    let end = lines.withUnsafeBytes { ByteScan.lineEnd(in: $0, from: 0) ?? $0.count }
    let parts = String(decoding: lines[..<end], as: UTF8.self).split { $0.isWhitespace }
    method = parts.first.flatMap { HTTPMethod(rawValue: String($0)) } ?? .get
    target = parts.count > 1 ? String(parts[1]) : ""
    version = parts.last.flatMap { HTTPVersion(rawValue: String($0)) } ?? .http1_1
    let fields = lines[end...]
    self.fields = HTTPFields(lines: fields.suffix(4) == [13, 10, 13, 10] ? fields.dropLast(2) : fields)
  }
}

extension WrittenHead: CustomStringConvertible {
  /// The request line, without the values of a query.
  public var description: String {
    "\(method) \(target.prefix { $0 != "?" })\(target.contains("?") ? "?…" : "") \(version)"
  }
}
