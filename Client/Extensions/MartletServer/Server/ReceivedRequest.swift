@_spi(Toolkit) public import MartletSemantics
import Synchronization

/// A request as the server received it.
public struct ReceivedRequest: Sendable, Hashable {
  /// The method.
  public let method: HTTPMethod
  /// The original target: `/path?query`, an absolute URL if the server is used as a proxy, or `*`.
  public let target: String
  /// HTTP/1.0, HTTP/1.1 or HTTP/2.
  public let version: HTTPVersion
  /// The fields in the order received, including repeated lines. A value that is not UTF-8 is read as Latin-1; the
  /// bytes of a cookie are kept in the same form as in a session's cookie jar. Those of HTTP/2 are in lower case, after
  /// `Host`.
  public let fields: HTTPFields
  /// The number of its connection: 1 is the first that the server accepted.
  public let connection: Int
  /// The TLS handshake of its connection; nil without TLS.
  public let handshake: LoopbackTLS.Handshake?
  /// The body without chunk framing; empty if the server streams bodies (``LoopbackServer/BodyReading/streamed``).
  public internal(set) var body = Data()
  /// The trailer fields of a chunked body; empty if the server streams bodies.
  public internal(set) var trailers: HTTPFields = [:]

  /// The target without its query, still percent-encoded: `/a%20b`.
  public var path: String { String(resource.prefix { $0 != "?" }) }

  /// The query without its question mark, still percent-encoded; nil if there is none.
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

  /// Whether the client waits for 100 Continue before it sends the body.
  var expectsContinue: Bool { ASCII.equalIgnoringCase(fields[.expect] ?? "", "100-continue") }

  /// Whether the client expects the connection to stay open (RFC 9112 §9.3).
  var keepsConnection: Bool {
    let options = fields[values: .connection].flatMap { $0.split(separator: ",") }.map { ASCII.trimmed($0) }
    if options.contains(where: { ASCII.equalIgnoringCase($0, "close") }) { return false }
    return version >= .http1_1 || options.contains { ASCII.equalIgnoringCase($0, "keep-alive") }
  }
}

extension ReceivedRequest: CustomReflectable {
  /// A mirror without secrets: without the parameters of the target that have secret names, and without the bytes of
  /// the body.
  public var customMirror: Mirror {
    Mirror(
      self,
      children: [
        "method": method, "target": Redaction.standard.redacted(reference: target), "version": version,
        "fields": fields, "connection": connection,
        "handshake": handshake.map { "\($0)" } ?? "none", "body": "\(body)", "trailers": trailers,
      ])
  }
}

/// The request that a responder answers, with access to its body and connection.
///
/// It has all properties of ``ReceivedRequest``: `request.path`, `request.fields`. Its body and its connection end with
/// the reply; keep ``received`` instead.
///
/// SAFETY: the body is read with the lock held, and waiting for a gate only uses descriptors.
@dynamicMemberLookup
public final class LoopbackRequest: CustomReflectable, @unchecked Sendable {
  /// The request as a value that can be kept.
  public let received: ReceivedRequest
  private let body: any ReceivedBody
  private let reading = Mutex(())
  let stream: any ServerStream

  init(_ received: ReceivedRequest, body: any ReceivedBody, stream: any ServerStream) {
    self.received = received
    self.body = body
    self.stream = stream
  }

  /// A mirror with ``received`` only.
  public var customMirror: Mirror { Mirror(self, children: ["received": received]) }

  /// A property of ``received``.
  public subscript<Value>(dynamicMember path: KeyPath<ReceivedRequest, Value>) -> Value { received[keyPath: path] }

  /// Blocks until the next bytes of a streamed body arrive; nil at its end, and at once if the server collected it.
  ///
  /// The first call sends 100 Continue if the client expects it (RFC 9110 §10.1.1).
  ///
  /// - Throws: an error when the client disconnects, the server is stopped, or the body's framing is invalid. A
  ///   responder should rethrow it.
  public func nextChunk() throws -> Data? { try reading.withLock { _ in try body.next() } }

  /// Reads and discards a streamed body to its end, and returns its number of bytes.
  public func drainBody() throws -> Int64 {
    var count: Int64 = 0
    while let chunk = try nextChunk() { count += Int64(chunk.count) }
    return count
  }

  /// Blocks the thread of the connection, or of the stream of HTTP/2, until the gate opens.
  ///
  /// - Throws: an error when the client disconnects or the server is stopped in the meantime. A responder should
  ///   rethrow it.
  public func wait(for gate: Gate) throws { try stream.wait(for: gate) }
}
