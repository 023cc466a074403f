public import MartletSemantics

/// A request as the server read it from the wire.
public struct ReceivedRequest: Sendable, Hashable {
  /// The method.
  public let method: HTTPMethod
  /// The target as it was sent: `/path?query`, an absolute URL where the server is used as a proxy, or `*`.
  public let target: String
  /// HTTP/1.0 or HTTP/1.1.
  public let version: HTTPVersion
  /// The fields, in the order of the wire, repeated lines kept.
  public let fields: HTTPFields
  /// Which connection it came over: 1 is the first that the server accepted.
  public let connection: Int
  /// The body, chunks joined; empty where the server streams bodies (``LoopbackServer/BodyReading/streamed``).
  public internal(set) var body = Data()
  /// The trailer fields of a chunked body; empty where the server streams bodies.
  public internal(set) var trailers: HTTPFields = [:]

  /// The target without its query, still percent-encoded: `/a%20b`.
  public var path: String { String(resource.prefix { $0 != "?" }) }

  /// What follows the question mark, still percent-encoded; nil without one.
  public var query: String? {
    guard let mark = resource.firstIndex(of: "?") else { return nil }
    return String(resource[resource.index(after: mark)...])
  }

  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// The target without the scheme and authority of the absolute form (RFC 9112 §3.2.2).
  private var resource: Substring {
    guard !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") else { return target[...] }
    let rest = target[scheme.upperBound...]
    return rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
  }

  /// Whether the client expects the connection to stay open (RFC 9112 §9.3).
  var keepsConnection: Bool {
    let options = fields[values: .connection].flatMap { $0.split(separator: ",") }.map { ASCII.trimmed($0) }
    if options.contains(where: { ASCII.equalIgnoringCase($0, "close") }) { return false }
    return version == .http1_1 || options.contains { ASCII.equalIgnoringCase($0, "keep-alive") }
  }
}
