/// What a response says before its body: status and fields. The pure rules work on this.
public struct ResponseHead: Sendable, Hashable {
  /// The status code.
  public var status: HTTPStatus
  /// The fields, in the order of the wire, repeated lines kept.
  public var fields: HTTPFields
  /// The version of HTTP that the message arrived in; nil where it did not come over a wire.
  public var version: HTTPVersion?

  /// Makes a head.
  public init(status: HTTPStatus, fields: HTTPFields = [:], version: HTTPVersion? = nil) {
    self.status = status
    self.fields = fields
    self.version = version
  }
}

extension ResponseHead: CustomStringConvertible {
  /// Status and fields, without secrets.
  public var description: String { "\(status.code)" + fields.indented }
}

extension HTTPFields {
  /// The description as it follows a first line; nothing where there are no fields.
  var indented: String { isEmpty ? "" : "\n" + description }
}

/// A version of the HTTP protocol.
public enum HTTPVersion: String, Sendable, Hashable, Comparable, CustomStringConvertible {
  /// HTTP/1.0.
  case http1_0 = "HTTP/1.0"
  /// HTTP/1.1 (RFC 9112).
  case http1_1 = "HTTP/1.1"
  /// HTTP/2 (RFC 9113).
  case http2 = "HTTP/2"
  /// HTTP/3 (RFC 9114).
  case http3 = "HTTP/3"

  /// Orders versions by their number.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// The version as it is written: `HTTP/1.1`.
  public var description: String { rawValue }
}
