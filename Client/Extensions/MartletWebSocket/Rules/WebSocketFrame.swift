@_spi(Toolkit) @_spi(Transports) public import MartletSemantics

/// The header of a WebSocket frame (RFC 6455 §5.2).
@_spi(Toolkit) public struct WebSocketFrameHeader: Sendable, Hashable {
  /// The meaning of a frame.
  public enum Opcode: UInt8, Sendable, Hashable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    /// Whether the frame is about the connection and not part of a message (§5.5).
    var isControl: Bool { rawValue & 8 != 0 }
  }

  /// The side that sends a frame. A client masks its frames, a server does not (§5.1).
  public enum Sender: Sendable, Hashable {
    case client
    case server
  }

  /// Whether the frame is the last one of its message.
  public var isFinal: Bool
  /// Whether the message is compressed (RFC 7692 §6): RSV1 of its first frame.
  public var isCompressed: Bool
  public var opcode: Opcode
  /// The number of bytes of the payload.
  public var length: Int
  /// The masking key, with its bytes in the order of the frame; nil if the payload is not masked.
  public var mask: UInt32?

  public init(
    _ opcode: Opcode, length: Int, isFinal: Bool = true, isCompressed: Bool = false, mask: UInt32? = nil
  ) {
    (self.opcode, self.length, self.isFinal, self.isCompressed) = (opcode, length, isFinal, isCompressed)
    self.mask = mask
  }

  /// The maximum number of bytes of a control frame's payload (§5.5).
  static let controlPayloadLimit = 125

  /// The maximum number of bytes of a header.
  static let sizeLimit = 14
}

// MARK: - Reading

extension WebSocketFrameHeader {
  /// Reads the header at the beginning of the bytes. An error in its first two bytes is found before the rest has
  /// arrived.
  ///
  /// - Parameters:
  ///   - bytes: the bytes that have arrived.
  ///   - sender: the side that sent them.
  ///   - allowsCompression: whether permessage-deflate was agreed on.
  /// - Returns: the header and the number of its bytes; nil if it is not complete.
  @_spi(Toolkit) public static func read(
    _ bytes: UnsafeRawBufferPointer, from sender: Sender, allowsCompression: Bool
  ) throws(WebSocketFault) -> (header: WebSocketFrameHeader, size: Int)? {
    guard bytes.count >= 2 else { return nil }
    let (first, second) = (bytes[0], bytes[1])
    guard let opcode = Opcode(rawValue: first & 15) else {
      throw .violation("it sent a frame with the reserved opcode \(first & 15)")
    }
    try checkReserved(first, opcode, allowsCompression: allowsCompression)
    let isMasked = second & 0x80 != 0
    guard isMasked == (sender == .client) else {
      throw .violation(isMasked ? "it masked a frame, as only clients do" : "it did not mask a frame")
    }
    let isFinal = first & 0x80 != 0
    if opcode.isControl {
      guard isFinal else { throw .violation("it fragmented a control frame") }
      guard second & 0x7F <= controlPayloadLimit else { throw .violation("it sent a control frame over 125 bytes") }
    }
    guard let (length, lengthEnd) = try length(in: bytes) else { return nil }
    let size = lengthEnd + (isMasked ? 4 : 0)
    guard bytes.count >= size else { return nil }
    let mask = isMasked ? bytes.loadUnaligned(fromByteOffset: lengthEnd, as: UInt32.self) : nil
    let header = WebSocketFrameHeader(
      opcode, length: length, isFinal: isFinal, isCompressed: first & 0x40 != 0, mask: mask)
    return (header, size)
  }

  /// RSV1 marks the first frame of a compressed message, if compression was agreed on (RFC 7692 §6); the other two bits
  /// have no meaning (RFC 6455 §5.2).
  private static func checkReserved(
    _ first: UInt8, _ opcode: Opcode, allowsCompression: Bool
  ) throws(WebSocketFault) {
    guard first & 0x30 == 0 else { throw .violation("it set a reserved bit of a frame") }
    guard first & 0x40 != 0 else { return }
    guard allowsCompression else { throw .violation("it sent a compressed message without an agreement on it") }
    guard opcode == .text || opcode == .binary else {
      throw .violation("it marked a frame as compressed that does not begin a message")
    }
  }

  /// A length is written in as few bytes as possible (§5.2): other programs may read another frame.
  private static var notMinimal: WebSocketFault { .violation("it sent a frame length in more bytes than it needs") }

  private static func length(
    in bytes: UnsafeRawBufferPointer
  ) throws(WebSocketFault) -> (length: Int, end: Int)? {
    switch bytes[1] & 0x7F {
    case 126:
      guard bytes.count >= 4 else { return nil }
      let length = Int(bytes[2]) << 8 | Int(bytes[3])
      guard length > 125 else { throw notMinimal }
      return (length, 4)
    case 127:
      guard bytes.count >= 10 else { return nil }
      let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
      guard length >> 63 == 0 else { throw .violation("it sent a frame length of 64 bits") }
      guard length > 65_535 else { throw notMinimal }
      guard let length = Int(exactly: length) else { throw .tooBig("it sent a frame of \(length) bytes") }
      return (length, 10)
    case let length: return (Int(length), 2)
    }
  }
}

// MARK: - Writing

extension WebSocketFrameHeader {
  /// Returns the frame: this header, with the length in the fewest bytes, and the payload, masked if there is a mask.
  ///
  /// - Parameter payload: ``length`` bytes.
  @_spi(Toolkit) public func frame(_ payload: UnsafeRawBufferPointer) -> Data {
    var head: (UInt64, UInt64) = (0, 0)
    let headSize = withUnsafeMutableBytes(of: &head) { write(to: $0) }
    let count = headSize + payload.count
    let frame = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 8)
    withUnsafeBytes(of: &head) { frame.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<headSize])) }
    let body = UnsafeMutableRawBufferPointer(rebasing: frame[headSize...])
    if let mask { WebSocketMask.apply(mask, to: payload, into: body) } else { body.copyMemory(from: payload) }
    // Not Data(count:), which fills the memory with zeros first.
    guard let start = frame.baseAddress else { return Data() }
    return Data(bytesNoCopy: start, count: count, deallocator: .custom { memory, _ in memory.deallocate() })
  }

  /// Writes the header, and returns the number of its bytes.
  private func write(to bytes: UnsafeMutableRawBufferPointer) -> Int {
    bytes[0] = (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode.rawValue
    let maskBit: UInt8 = mask == nil ? 0 : 0x80
    var size = 2
    switch length {
    case ..<126: bytes[1] = maskBit | UInt8(length)
    case ..<65_536:
      bytes[1] = maskBit | 126
      bytes.storeBytes(of: UInt16(length).bigEndian, toByteOffset: 2, as: UInt16.self)
      size = 4
    default:
      bytes[1] = maskBit | 127
      bytes.storeBytes(of: UInt64(length).bigEndian, toByteOffset: 2, as: UInt64.self)
      size = 10
    }
    guard let mask else { return size }
    bytes.storeBytes(of: mask, toByteOffset: size, as: UInt32.self)
    return size + 4
  }
}

/// The mask of a frame (RFC 6455 §5.3).
@_spi(Toolkit) public enum WebSocketMask {
  /// Masks or unmasks bytes.
  ///
  /// - Parameters:
  ///   - mask: the masking key, with its bytes in the order of the frame.
  ///   - source: the bytes.
  ///   - target: gets as many bytes as there are in the source; it may be the same memory.
  ///   - offset: the position of the first byte in the frame's payload.
  public static func apply(
    _ mask: UInt32, to source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, at offset: Int = 0
  ) {
    let turned = UInt32(littleEndian: mask)
    let shift = UInt32(8 * (offset & 3))
    let key = shift == 0 ? turned : turned >> shift | turned << (32 - shift)
    let wide = (UInt64(key) | UInt64(key) << 32).littleEndian
    let words = source.count & ~7
    for position in stride(from: 0, to: words, by: 8) {
      let word = source.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      target.storeBytes(of: word ^ wide, toByteOffset: position, as: UInt64.self)
    }
    for position in words..<source.count {
      target[position] = source[position] ^ UInt8(truncatingIfNeeded: key >> UInt32(8 * (position & 3)))
    }
  }
}
