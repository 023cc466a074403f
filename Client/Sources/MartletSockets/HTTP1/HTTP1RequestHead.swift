@_spi(Transports) public import MartletEngine
@_spi(Toolkit) public import MartletSemantics

/// The head of a request as it is sent over HTTP/1.1, and how its body is framed.
///
/// Decisions:
/// - The caller's fields are sent unchanged and in order, after `Host`. The transport sets `Content-Length` and
///   `Transfer-Encoding`. `Connection` gets the options that `Upgrade` and `TE` need.
/// - `Accept: */*` is sent if the caller has no `Accept`: some servers refuse requests without one.
/// - A body without a length is chunked, and so is one with trailers. Without a body, POST, PUT and PATCH have a length
///   of 0 (RFC 9110 §8.6).
/// - An OPTIONS request for a URL without path and query addresses the server itself and has the target `*` (RFC 9112
///   §3.2.4).
struct HTTP1RequestHead: Sendable {
  /// The head, with the empty line at its end; empty if it was not written.
  private(set) var bytes: [UInt8] = []
  let framing: RequestFraming
  /// Whether the body is sent only after a 100 response, or when ``RequestOptions/continueTimeout`` has expired.
  let expectsContinue: Bool
  /// Whether the caller asked to close the connection after the response (RFC 9112 §9.6).
  private(set) var closesConnection = false

  /// The recipient of the request, which decides the form of its target (RFC 9112 §3.2).
  enum Recipient: Sendable, Equatable {
    /// The origin server, directly or through a tunnel.
    case origin
    /// An HTTP proxy that forwards the request. The authorization is the value of `Proxy-Authorization`.
    case proxy(authorization: String?)
  }

  /// Writes the head of a request.
  ///
  /// - Parameters:
  ///   - origin: the origin of the request's URL.
  ///   - body: the opened body; nil if the request has none.
  ///   - isWritten: whether to write ``bytes``; HTTP/2 does not need them.
  /// - Throws: ``HTTPError`` of kind `invalidRequest`.
  init(
    _ request: HTTPRequest, to origin: Origin, through recipient: Recipient = .origin, body: OpenBody?,
    isWritten: Bool = true
  ) throws(HTTPError) {
    try Self.check(request)
    framing = RequestFraming(of: body, in: request)
    expectsContinue = body != nil && request.expectsContinue
    if isWritten { try write(request, to: origin, through: recipient) }
  }

  /// Returns the head, written for its origin; this one was not written.
  func written(for request: HTTPRequest, to origin: Origin) throws(HTTPError) -> HTTP1RequestHead {
    guard bytes.isEmpty else { return self }
    var head = self
    try head.write(request, to: origin, through: .origin)
    return head
  }

  private mutating func write(
    _ request: HTTPRequest, to origin: Origin, through recipient: Recipient
  ) throws(HTTPError) {
    let target = RequestTarget(of: request, to: origin, isAbsolute: recipient != .origin)
    var writer = try RequestHeadWriter(request.method, host: request.fields[.host] ?? target.host) {
      bytes throws(HTTPError) in try target.append(to: &bytes)
    }
    var fields = request.fields
    // It is for the next proxy (RFC 9110 §11.7.2): an origin must not get it.
    if recipient == .origin, fields.contains(.proxyAuthorization) { fields[.proxyAuthorization] = nil }
    writer.write(fields)
    if !request.hasOrOmits(.accept) { writer.write("*/*", for: .accept) }
    switch framing {
    case .none: break
    case .length(let count): writer.write(String(count), for: .contentLength)
    case .unknownLength: writer.write("chunked", for: .transferEncoding)
    }
    if case .proxy(let authorization?) = recipient, !request.fields.contains(.proxyAuthorization) {
      writer.write(authorization, for: .proxyAuthorization)
    }
    writer.finish()
    bytes = writer.bytes
    closesConnection = writer.closesConnection
  }

  private static func check(_ request: HTTPRequest) throws(HTTPError) {
    if let refusal = request.fields.refusal { throw HTTPError(wrapping: refusal) }
    guard !request.fields.contains(.host) || request.fields[values: .host].count < 2 else {
      throw .invalid("a request cannot have several Host fields (RFC 9112 §3.2)")
    }
  }
}

/// How the end of a request's body is marked.
enum RequestFraming: Sendable, Hashable {
  /// There is no body.
  case none
  /// `Content-Length`, which is 0 if the method expects a body and there is none (RFC 9110 §8.6).
  case length(Int64)
  /// The last chunk (RFC 9112 §7.1), or END_STREAM (RFC 9113 §8.1).
  case unknownLength

  /// - Parameter body: the opened body; nil if the request has none.
  init(of body: OpenBody?, in request: HTTPRequest) {
    self =
      if let body {
        request.body.hasTrailers ? .unknownLength : body.length.map { .length($0) } ?? .unknownLength
      } else {
        switch request.method {
        case .post, .put, .patch: .length(0)
        default: .none
        }
      }
  }
}

extension WrittenHead {
  /// The head that would be written for a request to its origin over HTTP/1.1, to display a request without sending it.
  ///
  /// - Parameter body: the opened body; nil if the request has none.
  /// - Throws: ``HTTPError`` of kind `invalidRequest`.
  @_spi(Transports) public init(of request: HTTPRequest, body: OpenBody?) throws(HTTPError) {
    guard let origin = request.origin else { throw request.noOriginError }
    let head = try HTTP1RequestHead(request, to: origin, body: body)
    self.init(lines: head.bytes)
  }
}

/// The target of a request, and the matching authority for `Host` (RFC 9112 §3.2).
struct RequestTarget {
  let host: String
  private let request: HTTPRequest
  /// Scheme and authority, for a proxy; empty for the others.
  private let prefix: String

  /// - Parameter isAbsolute: whether the target has scheme and authority, for a proxy (§3.2.2).
  init(of request: HTTPRequest, to origin: Origin, isAbsolute: Bool) {
    self.request = request
    // §3.2.3: for CONNECT with the port, even if it is the default.
    let lacksPort = origin.port == (origin.isSecure ? 443 : 80)
    host = request.method == .connect && lacksPort ? "\(origin.authority):\(origin.port)" : origin.authority
    prefix = isAbsolute ? "\(origin.scheme)://\(host)" : ""
  }

  /// Appends the target.
  ///
  /// - Throws: ``HTTPError`` of kind `invalidRequest`.
  func append(to bytes: inout [UInt8]) throws(HTTPError) {
    guard request.method != .connect else { return bytes.append(utf8: host) }
    var text = request.url.absoluteString
    switch text.withUTF8({ append($0, to: &bytes) }) {
    case nil: return
    case .noOrigin?: throw request.noOriginError
    case .notEncoded?:
      throw .invalid("the URL '\(request.url.redacted)' has a character that must be percent-encoded (RFC 3986 §2)")
    }
  }

  private enum Fault {
    case noOrigin
    case notEncoded
  }

  /// Appends the URL's path and query as written, without the fragment, after the prefix. A URL without path and query
  /// addresses the server itself in an OPTIONS request (§3.2.4).
  private func append(_ url: UnsafeBufferPointer<UInt8>, to target: inout [UInt8]) -> Fault? {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")), url[colon...].starts(with: "://".utf8) else {
      return .noOrigin
    }
    var start = colon + 3
    while start < url.count, url[start] != UInt8(ascii: "/"), url[start] != UInt8(ascii: "?"),
      url[start] != UInt8(ascii: "#")
    {
      start += 1
    }
    var end = start
    while end < url.count, url[end] != UInt8(ascii: "#") {
      guard (33...126).contains(url[end]) else { return .notEncoded }
      end += 1
    }
    target.append(utf8: prefix)
    if request.method == .options, start == end {
      if prefix.isEmpty { target.append(UInt8(ascii: "*")) }
    } else if start == end || url[start] != UInt8(ascii: "/") {
      target.append(UInt8(ascii: "/"))
    }
    target.append(contentsOf: UnsafeBufferPointer(rebasing: url[start..<end]))
    return nil
  }
}

extension HTTPError {
  fileprivate static func invalid(_ message: String) -> HTTPError {
    HTTPError(.invalidRequest, message, phase: .preparing)
  }
}
