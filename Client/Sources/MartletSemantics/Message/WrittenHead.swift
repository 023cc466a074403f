/// The head of a request as it was written to a connection, with the transport's additions, such as `Host`,
/// `Accept-Encoding` and `Content-Length`.
public struct WrittenHead: Sendable, Hashable {
  /// The method.
  public let method: HTTPMethod
  /// The target, as in the request line or `:path`: `/orders?page=2`; with scheme and authority for a proxy that
  /// forwards the request (RFC 9112 §3.2).
  public let target: String
  /// The version of HTTP.
  public let version: HTTPVersion
  /// The fields, in the order in which they were written. Over HTTP/2, `Host` is the value of `:authority`.
  public let fields: HTTPFields
}

extension WrittenHead: CustomStringConvertible {
  /// The request line, without the values of a query.
  public var description: String {
    "\(method) \(target.prefix { $0 != "?" })\(target.contains("?") ? "?…" : "") \(version)"
  }
}
