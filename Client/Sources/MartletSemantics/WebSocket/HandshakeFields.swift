// The fields of a WebSocket's opening handshake (RFC 6455 §11.3), which clients, servers and transports know.
// The handshake itself is in MartletWebSocket.

extension FieldName {
  /// `Sec-WebSocket-Accept` (RFC 6455 §11.3.3).
  public static let secWebSocketAccept: FieldName = "Sec-WebSocket-Accept"
  /// `Sec-WebSocket-Extensions` (RFC 6455 §11.3.2).
  public static let secWebSocketExtensions: FieldName = "Sec-WebSocket-Extensions"
  /// `Sec-WebSocket-Key` (RFC 6455 §11.3.1).
  public static let secWebSocketKey: FieldName = "Sec-WebSocket-Key"
  /// `Sec-WebSocket-Protocol` (RFC 6455 §11.3.4).
  public static let secWebSocketProtocol: FieldName = "Sec-WebSocket-Protocol"
  /// `Sec-WebSocket-Version` (RFC 6455 §11.3.5).
  public static let secWebSocketVersion: FieldName = "Sec-WebSocket-Version"
}

extension HTTPFields {
  /// Whether a request with these fields opens a WebSocket.
  package var opensWebSocket: Bool { self[.upgrade].map { ASCII.equalIgnoringCase($0, "websocket") } ?? false }
}
