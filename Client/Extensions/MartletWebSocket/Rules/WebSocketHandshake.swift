@_spi(Toolkit) @_spi(Transports) public import MartletSemantics

/// Why the response to an opening handshake does not open a WebSocket, for messages: "it …".
struct HandshakeFault: Error, Sendable, Hashable {
  let reason: String

  init(_ reason: String) { self.reason = reason }
}

/// The opening handshake of a client (RFC 6455 §4.1).
@_spi(Toolkit) public struct WebSocketHandshake: Sendable, Hashable {
  /// The subprotocols that the client speaks, in order of preference.
  var protocols: [String]
  /// The compression that it offers; nil for none.
  var compression: DeflateOffer?

  init(protocols: [String] = [], compression: DeflateOffer? = nil) {
    (self.protocols, self.compression) = (protocols, compression)
  }

  /// What both sides agreed on.
  struct Agreement: Sendable, Hashable {
    /// The subprotocol; nil for none.
    var subprotocol: String?
    /// The compression; nil for none.
    var compression: DeflateAgreement?

    init(subprotocol: String? = nil, compression: DeflateAgreement? = nil) {
      (self.subprotocol, self.compression) = (subprotocol, compression)
    }
  }

  /// The fields of every attempt. The key is not among them: each attempt has its own.
  var fields: HTTPFields {
    var fields: HTTPFields = [.upgrade: "websocket", .secWebSocketVersion: "13"]
    if !protocols.isEmpty { fields[.secWebSocketProtocol] = protocols.joined(separator: ", ") }
    if let compression { fields[.secWebSocketExtensions] = compression.fieldValue }
    return fields
  }

  /// Why the handshake cannot be sent: a subprotocol is not a token, or is there twice (§4.1). nil if it can.
  var reasonToRefuse: String? {
    for (index, name) in protocols.enumerated() {
      if (try? FieldName(name)) == nil {
        return "the subprotocol '\(name)' is not a token: use letters, digits and hyphens"
      }
      if protocols[..<index].contains(name) { return "the subprotocol '\(name)' is offered twice" }
    }
    return nil
  }

  /// Returns a new key: 16 random bytes (§4.1).
  static func makeKey() -> String {
    var generator = SystemRandomNumberGenerator()
    return withUnsafeBytes(of: (generator.next() as UInt64, generator.next() as UInt64)) {
      Data($0).base64EncodedString()
    }
  }

  /// Returns the `Sec-WebSocket-Accept` that answers a key (§4.2.2); nil if SHA-1 is not available.
  public static func accept(_ key: String, sha1: (Data) -> Data?) -> String? {
    sha1(Data((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8))?.base64EncodedString()
  }

  /// Checks a response that opens a WebSocket, and returns what it agrees on.
  ///
  /// - Parameters:
  ///   - response: the response's fields.
  ///   - version: its version; nil if it was not received over a connection.
  ///   - accept: the expected `Sec-WebSocket-Accept`; nil over HTTP/2, which has neither a key nor an upgrade
  ///     (RFC 8441 §5), and if the transport has checked the answer itself.
  func agreement(
    in response: HTTPFields, _ version: HTTPVersion? = nil, expecting accept: String?
  ) throws(HandshakeFault) -> Agreement {
    if let accept { try checkUpgrade(in: response, version, expecting: accept) }
    return Agreement(
      subprotocol: try subprotocol(in: response[values: .secWebSocketProtocol]),
      compression: try .reading(response[values: .secWebSocketExtensions], answering: compression))
  }

  /// §4.1: the server switches to WebSocket, and has read the key.
  private func checkUpgrade(
    in response: HTTPFields, _ version: HTTPVersion?, expecting accept: String
  ) throws(HandshakeFault) {
    guard version != .http1_0 else { throw HandshakeFault("it is of HTTP/1.0, which has no upgrades") }
    let protocols = response.list(.upgrade)
    guard protocols.count == 1, ASCII.equalIgnoringCase(protocols[0], "websocket") else {
      throw HandshakeFault("it switched to '\(response[.upgrade] ?? "")' and not to websocket")
    }
    guard response.list(.connection).contains(where: { ASCII.equalIgnoringCase($0, "upgrade") }) else {
      throw HandshakeFault("its Connection field does not name the upgrade")
    }
    guard response[values: .secWebSocketAccept] == [accept] else {
      throw HandshakeFault("its Sec-WebSocket-Accept does not answer the key of the request")
    }
  }

  /// §4.1: the server may choose one of the offered subprotocols, or none.
  private func subprotocol(in values: [String]) throws(HandshakeFault) -> String? {
    guard let value = values.first else { return nil }
    guard values.count == 1, protocols.contains(value) else {
      throw HandshakeFault("it chose the subprotocol '\(values.joined(separator: ", "))', which was not offered")
    }
    return value
  }
}
