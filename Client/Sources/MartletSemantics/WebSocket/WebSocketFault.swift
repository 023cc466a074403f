/// Why a WebSocket connection has to be failed (RFC 6455 §7.1.7).
@_spi(Toolkit) public struct WebSocketFault: Error, Sendable, Hashable {
  /// The status code of the Close frame that tells the peer.
  public let code: UInt16
  /// What the peer did, for messages.
  @_spi(Transports) public let reason: String

  public init(_ code: UInt16, _ reason: String) { (self.code, self.reason) = (code, reason) }

  /// The peer violates the protocol (§7.4.1).
  @_spi(Transports) public static func violation(_ reason: String) -> WebSocketFault { WebSocketFault(1002, reason) }

  /// Data are not of the type of their message (§7.4.1, §8.1).
  @_spi(Transports) public static func invalidData(_ reason: String) -> WebSocketFault { WebSocketFault(1007, reason) }

  /// A message is larger than its receiver accepts (§7.4.1).
  @_spi(Transports) public static func tooBig(_ reason: String) -> WebSocketFault { WebSocketFault(1009, reason) }
}
