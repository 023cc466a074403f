/// The content of a Close frame (RFC 6455 §5.5.1): a status code and a reason, or nothing.
@_spi(Toolkit) public struct CloseFrame: Sendable, Hashable {
  /// The status code; nil if the frame has none.
  public var code: UInt16?
  /// The reason; empty without one.
  public var reason: String

  public init(code: UInt16?, reason: String = "") { (self.code, self.reason) = (code, reason) }

  /// Reads the payload of a Close frame.
  public init(payload: UnsafeRawBufferPointer) throws(WebSocketFault) {
    guard !payload.isEmpty else {
      self.init(code: nil)
      return
    }
    guard payload.count >= 2 else { throw .violation("it sent a Close frame of one byte") }
    let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
    guard Self.maySend(code) else { throw .violation("it closed with the code \(code), which must not be sent") }
    guard let reason = String(validating: payload.dropFirst(2), as: UTF8.self) else {
      throw .invalidData("it closed with a reason that is not UTF-8")
    }
    self.init(code: code, reason: reason)
  }

  /// Whether a Close frame may have the code: the defined ones, and those for libraries and applications (§7.4). 1005,
  /// 1006 and 1015 only stand for what happened without a frame.
  public static func maySend(_ code: UInt16) -> Bool {
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: true
    default: false
    }
  }

  /// Whether a peer that closes with it has nothing to complain of.
  public var isOrderly: Bool { code == nil || code == 1000 || code == 1001 }

  /// The maximum number of bytes of a control frame's payload (RFC 6455 §5.5).
  private static let payloadLimit = 125

  /// The payload. A reason that is too long is cut after a character. Without a code there is no reason.
  public var payload: Data {
    guard let code else { return Data() }
    var payload = Data([UInt8(code >> 8), UInt8(code & 0xFF)])
    for character in reason {
      guard payload.count + character.utf8.count <= Self.payloadLimit else { break }
      payload.append(contentsOf: character.utf8)
    }
    return payload
  }
}
