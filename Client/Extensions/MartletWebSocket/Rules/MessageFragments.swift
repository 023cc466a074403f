@_spi(Toolkit) @_spi(Transports) import MartletSemantics

/// The order of the frames of messages (RFC 6455 §5.4), and the text in them (§8.1).
struct MessageFragments: Sendable, Hashable {
  /// The message whose frames are arriving; nil between messages.
  private var current: Current?

  private struct Current: Sendable, Hashable {
    let isText: Bool
    let isCompressed: Bool
    var text = UTF8Progress()
  }

  init() {}

  /// Whether a message was begun and has not ended.
  var isWithinMessage: Bool { current != nil }

  /// Whether the current message is text.
  var isText: Bool { current?.isText ?? false }

  /// Whether the current message is compressed (RFC 7692 §6.2).
  var isCompressed: Bool { current?.isCompressed ?? false }

  /// Begins a data frame.
  ///
  /// - Returns: whether it is the first of its message.
  mutating func begin(_ header: WebSocketFrameHeader) throws(WebSocketFault) -> Bool {
    if header.opcode == .continuation {
      guard current != nil else { throw .violation("it continued a message that it had not begun") }
      return false
    }
    guard current == nil else { throw .violation("it began a message within another one") }
    current = Current(isText: header.opcode == .text, isCompressed: header.isCompressed)
    return true
  }

  /// Judges bytes of the current message, decompressed. They need not be a whole frame.
  mutating func add(_ bytes: UnsafeRawBufferPointer) throws(WebSocketFault) {
    guard current?.isText == true else { return }
    guard current?.text.accept(bytes) == true else { throw .invalidData("it sent text that is not UTF-8") }
  }

  /// Ends the current message, after its last frame.
  mutating func end() throws(WebSocketFault) {
    defer { current = nil }
    guard current?.text.isComplete ?? true else { throw .invalidData("it sent text that ends within a character") }
  }
}
