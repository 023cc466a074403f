// The fields of a WebSocket's opening handshake (RFC 6455 §11.3), which clients, servers and transports know.
// The handshake itself is in MartletWebSocket.

extension FieldName {
  @_spi(Transports) public static let secWebSocketAccept: FieldName = "Sec-WebSocket-Accept"
  @_spi(Transports) public static let secWebSocketExtensions: FieldName = "Sec-WebSocket-Extensions"
  @_spi(Transports) public static let secWebSocketKey: FieldName = "Sec-WebSocket-Key"
  @_spi(Transports) public static let secWebSocketProtocol: FieldName = "Sec-WebSocket-Protocol"
  @_spi(Transports) public static let secWebSocketVersion: FieldName = "Sec-WebSocket-Version"
}

extension HTTPFields {
  /// Whether a request with these fields opens a WebSocket.
  package var opensWebSocket: Bool { self[.upgrade].map { ASCII.equalIgnoringCase($0, "websocket") } ?? false }
}
