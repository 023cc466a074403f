@_spi(Transports) import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics

/// Reads the frames of a server (RFC 6455 §5, RFC 7692 §6) from bytes as they arrive, and checks them before each frame
/// is complete.
struct FrameReader {
  /// What a frame or a part of one has brought.
  enum Event {
    case piece(MessagePiece)
    /// Nothing to deliver: a frame without content, or one that is not wanted.
    case nothing
    case ping(Data)
    case pong(Data)
    case close(CloseFrame)
  }

  private enum State {
    /// The beginning of a header.
    case header([UInt8])
    /// A control frame, and the payload so far.
    case control(WebSocketFrameHeader, Data)
    /// A data frame, and the number of bytes that are missing.
    case data(WebSocketFrameHeader, missing: Int)
    /// The end of a compressed message, after its last byte.
    case messageEnd
  }

  private let agreement: DeflateAgreement?
  private let ratioLimit: Int?
  private var state = State.header([])
  private var fragments = MessageFragments()
  private var inflater: MessageInflater?
  /// Whether no piece of the current message was returned yet.
  private var isFirst = true
  /// Whether pieces are no longer wanted: then only control frames are read, and nothing is decompressed.
  var skipsMessages = false
  /// The bytes of the current message, if it is compressed: as received and as decompressed.
  private(set) var counts = (received: 0, inflated: 0)
  /// Whether more can be decompressed from the bytes received so far.
  private var holdsOutput = false
  private var chunk = Data()
  private var position = 0

  /// - Parameters:
  ///   - agreement: the agreed compression; nil for none.
  ///   - ratioLimit: the maximum ratio of decompressed to received bytes of a message; nil for no limit.
  init(_ agreement: DeflateAgreement?, ratioLimit: Int?) {
    self.agreement = agreement
    self.ratioLimit = ratioLimit
  }

  /// The number of decompressed bytes of a message up to which its ratio is not checked, as for the bodies of
  /// responses.
  private static let uncheckedRatio = 10 << 20

  /// Adds bytes. All events of earlier bytes must have been read.
  mutating func add(_ bytes: Data) {
    chunk = bytes
    position = chunk.startIndex
  }

  /// Returns the next event; nil if it needs more bytes.
  mutating func next() throws(WebSocketFault) -> Event? {
    while true {
      switch state {
      case .header(let start):
        guard try readHeader(after: start) else { return nil }
      case .control(let header, var payload):
        payload.append(take(header.length - payload.count))
        guard payload.count == header.length else {
          state = .control(header, payload)
          return nil
        }
        state = .header([])
        return try Self.event(header.opcode, payload)
      case .data(let header, let missing) where skipsMessages:
        let skipped = min(missing, chunk.endIndex - position)
        position += skipped
        state = missing > skipped ? .data(header, missing: missing - skipped) : .header([])
        return missing > skipped ? nil : .nothing
      case .messageEnd where skipsMessages: state = .header([])
      case .data(let header, let missing):
        if missing > 0, position == chunk.endIndex, !holdsOutput { return nil }
        return try readData(header, missing).map(Event.piece) ?? .nothing
      case .messageEnd:
        if let piece = try readMessageEnd() { return .piece(piece) }
      }
    }
  }

  private static func event(_ opcode: WebSocketFrameHeader.Opcode, _ payload: Data) throws(WebSocketFault) -> Event {
    switch opcode {
    case .ping: return .ping(payload)
    case .pong: return .pong(payload)
    default: return .close(try payload.judged { bytes throws(WebSocketFault) in try CloseFrame(payload: bytes) })
    }
  }

  /// Takes at most this many of the bytes.
  private mutating func take(_ count: Int) -> Data {
    let end = position + min(count, chunk.endIndex - position)  // A frame may have 2^63 - 1 bytes.
    defer { position = end }
    return chunk.subdata(in: position..<end)
  }

  /// How many more bytes are certain to follow, or at least one within a message; 0 between messages.
  var missing: Int {
    switch state {
    case .header(let start): start.isEmpty && !fragments.isWithinMessage ? 0 : 1
    case .control(let header, let payload): header.length - payload.count
    case .data(_, let missing): max(missing, 1)
    case .messageEnd: 1
    }
  }

  // MARK: - Headers

  /// Reads a header whose beginning arrived earlier. Returns false if it needs more bytes.
  private mutating func readHeader(after start: [UInt8]) throws(WebSocketFault) -> Bool {
    guard position < chunk.endIndex else { return false }
    let rest = chunk[position...]
    let known = start.isEmpty ? rest : Data(start) + rest.prefix(WebSocketFrameHeader.sizeLimit)
    let found = try known.judged { bytes throws(WebSocketFault) in
      try WebSocketFrameHeader.read(bytes, from: .server, allowsCompression: agreement != nil)
    }
    guard let (header, size) = found else {
      state = .header(start + rest)
      position = chunk.endIndex
      return false
    }
    position += size - start.count
    guard !header.opcode.isControl else {
      state = .control(header, Data())
      return true
    }
    if !skipsMessages, try fragments.begin(header) {
      isFirst = true
      counts = (0, 0)
    }
    state = .data(header, missing: header.length)
    return true
  }

  // MARK: - Data

  /// Reads bytes of a data frame. Returns nil if there is nothing to deliver.
  private mutating func readData(
    _ header: WebSocketFrameHeader, _ missing: Int
  ) throws(WebSocketFault) -> MessagePiece? {
    if fragments.isCompressed { return try inflateData(header, missing) }
    let bytes = take(missing)
    let missing = missing - bytes.count
    let isLast = missing == 0 && header.isFinal
    return try piece(bytes, isLast: isLast, then: missing == 0 ? .header([]) : .data(header, missing: missing), missing)
  }

  private mutating func inflateData(
    _ header: WebSocketFrameHeader, _ missing: Int
  ) throws(WebSocketFault) -> MessagePiece? {
    let inflater = try currentInflater()
    let input = chunk[position..<position + min(missing, chunk.endIndex - position)]
    let step = try input.judged { bytes throws(WebSocketFault) in try inflater.decompress(bytes) }
    position += step.consumed
    counts.received += step.consumed
    let missing = missing - step.consumed
    holdsOutput = !step.isDone
    let next: State =
      missing > 0 || holdsOutput
      ? .data(header, missing: missing) : header.isFinal ? .messageEnd : .header([])
    return try inflated(step.output, isLast: false, then: next)
  }

  private mutating func readMessageEnd() throws(WebSocketFault) -> MessagePiece? {
    let step = try currentInflater().decompressEnd()
    return try inflated(step.output, isLast: step.isDone, then: step.isDone ? .header([]) : .messageEnd)
  }

  private mutating func inflated(
    _ bytes: Data, isLast: Bool, then next: State
  ) throws(WebSocketFault) -> MessagePiece? {
    counts.inflated += bytes.count
    if let ratioLimit, counts.inflated > Self.uncheckedRatio, counts.inflated / max(1, counts.received) > ratioLimit {
      throw .tooBig("it sent a message that is compressed by more than the limit of \(ratioLimit):1")
    }
    return try piece(bytes, isLast: isLast, then: next, 0)
  }

  private mutating func currentInflater() throws(WebSocketFault) -> MessageInflater {
    if let inflater { return inflater }
    let agreement = agreement ?? DeflateAgreement()
    let made = try MessageInflater(windowBits: agreement.serverWindowBits, resets: agreement.serverResets)
    inflater = made
    return made
  }

  /// Checks bytes of the current message and returns them as a piece; nil if there are none and the message continues.
  private mutating func piece(
    _ bytes: Data, isLast: Bool, then next: State, _ following: Int
  ) throws(WebSocketFault) -> MessagePiece? {
    state = next
    let isText = fragments.isText
    try bytes.judged { bytes throws(WebSocketFault) in try fragments.add(bytes) }
    if isLast { try fragments.end() }
    guard !bytes.isEmpty || isLast else { return nil }
    defer { isFirst = false }
    return MessagePiece(isText: isText, bytes, isFirst: isFirst, isLast: isLast, following: following)
  }
}

extension Data {
  /// Calls a function that checks the bytes, and throws its fault.
  fileprivate func judged<Value>(
    _ body: (UnsafeRawBufferPointer) throws(WebSocketFault) -> Value
  ) throws(WebSocketFault) -> Value {
    try withUnsafeBytes { bytes in Result { () throws(WebSocketFault) in try body(bytes) } }.get()
  }
}
