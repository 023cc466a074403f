import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics

/// The head of a request over HTTP/2 (RFC 9113 §8.3.1): pseudo-fields and fields.
struct HTTP2RequestHead: Sendable {
  let fields: HTTP2Fields
  /// Whether DATA may follow. Otherwise the head ends the request.
  let hasBody: Bool

  /// Translates a request.
  ///
  /// - `:authority` is the request's `Host` if it has one, and otherwise the origin's.
  /// - `:path` is path and query of the URL; `*` for an `OPTIONS` of a URL without them.
  /// - `Accept: */*` is sent if the caller has no `Accept`, as over HTTP/1.1.
  /// - The opening handshake of a WebSocket becomes an extended CONNECT without a key (RFC 8441 §4, §5), whose DATA are
  ///   the WebSocket's bytes.
  ///
  /// - Parameters:
  ///   - origin: the origin of the request's URL.
  /// - Throws: `invalidRequest` if the target contains a character that is not allowed in it, or for `CONNECT`, which
  ///   is a tunnel and not a request to an origin.
  init(_ request: HTTPRequest, origin: Origin, framing: RequestFraming) throws(HTTPError) {
    guard request.method != .connect else {
      throw HTTPError(.invalidRequest, "CONNECT cannot be sent to an origin", phase: .preparing)
    }
    var fields = HTTP2Fields()
    let opensWebSocket = request.opensWebSocket
    fields.append(":method", (opensWebSocket ? .connect : request.method).rawValue)
    if opensWebSocket { fields.append(":protocol", "websocket") }
    fields.append(":scheme", origin.scheme)
    let target = RequestTarget(of: request, to: origin, isAbsolute: false)
    var path: [UInt8] = []
    try target.append(to: &path)
    fields.append(":authority", request.fields[.host] ?? target.host)
    fields.append(":path", bytes: path)
    switch framing {
    case .length(let length): fields.append("content-length", String(length))
    case .none, .unknownLength: break
    }
    var others = request.fields
    if opensWebSocket { others[.secWebSocketKey] = nil }
    fields.append(others)
    if !request.hasOrOmits(.accept) { fields.append("accept", "*/*") }
    guard fields.listSize <= Self.listLimit else {
      let message = "the request's fields are larger than \(Self.listLimit >> 10) KiB"
      throw HTTPError(.invalidRequest, message, phase: .preparing)
    }
    self.fields = fields
    hasBody =
      switch framing {
      case .none, .length(0): opensWebSocket
      case .length, .unknownLength: true
      }
  }

  /// The head in the form of HTTP/1.1, for display: `GET /orders HTTP/2`, `Host` and the fields.
  var lines: [UInt8] {
    var pseudo: [String: String] = [:]
    var lines: [UInt8] = []
    for (name, value) in fields.texts {
      if name.first == ":" { pseudo[name] = value } else { lines.append(utf8: "\(name): \(value)\r\n") }
    }
    let (method, path) = (pseudo[":method"] ?? "", pseudo[":path"] ?? "")
    let other = pseudo[":protocol"].map { ":protocol: \($0)\r\n" } ?? ""
    return Array("\(method) \(path) HTTP/2\r\nHost: \(pseudo[":authority"] ?? "")\r\n\(other)".utf8) + lines
  }

  /// The maximum size of a list of fields that is sent: servers accept far less.
  static let listLimit = 1 << 20
}

extension HTTPRequest {
  /// Whether it is the opening handshake of a WebSocket, which HTTP/2 can carry, too (RFC 8441).
  var opensWebSocket: Bool { method == .get && body.isEmpty && fields.opensWebSocket }
}
