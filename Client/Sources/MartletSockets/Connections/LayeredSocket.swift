#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// A connected socket, and the TLS sessions that its bytes pass through: none, one, or one to a proxy with one to the
/// origin inside it. It belongs to the loop's thread.
final class LayeredSocket: SocketHandler {
  private let socket: Socket
  private let memory: ReceiveMemory
  /// The opening, then its connection.
  weak var owner: (any LayeredSocketHandler)?
  /// The sessions, the outermost first.
  private var layers: [TLSSession] = []
  /// How many of them have completed their handshakes.
  private var secureCount = 0
  /// The step of the innermost session's handshake that runs on another thread, which owns the session in the meantime.
  private var step: HandshakeStep?
  /// What arrived for that session during the step.
  private var arrived = (bytes: SendBuffer(), hasEnded: false)
  /// How the connection ended during the step.
  private var end: InputEnd?
  /// How many bytes the system has taken.
  private var sentCount = 0
  /// Whether nothing is passed to the owner for now because it is not ready.
  private var isHeld = false
  /// Whether the innermost session has reported the end of the peer's direction.
  private var hasReadEnd = false
  /// Whether the socket was given away and no longer belongs to this object.
  private var isGivenAway = false

  /// Whether the bytes pass through TLS.
  var isSecure: Bool { !layers.isEmpty }

  /// The session of the origin if that is secure, otherwise that of a secure proxy; nil while another thread has it.
  var innermost: TLSSession? { step == nil ? layers.last : nil }

  /// The context of that session, at any time.
  var tlsContext: TLSContext? { layers.last?.context }

  /// Whether no unread bytes have arrived, not even a part of a TLS record.
  var isQuiet: Bool { socket.isQuiet && !layers.contains { $0.hasUnreadBytes } }

  init(_ socket: Socket, _ memory: ReceiveMemory, owner: any LayeredSocketHandler) {
    self.socket = socket
    self.memory = memory
    self.owner = owner
    socket.handler = self
    socket.interest = .read
  }

  private var isOpen: Bool { socket.isOpen && !isGivenAway }

  /// See ``Socket/limitAcknowledgement(to:)``.
  func limitAcknowledgement(to time: UInt64) { if isOpen { socket.limitAcknowledgement(to: time) } }

  /// Waits until bytes arrive, for at most `time` nanoseconds, unless a descriptor becomes readable. Returns whether
  /// bytes have arrived.
  func waitForInput(upTo time: UInt64, unless interrupt: Int32) -> Bool {
    isOpen && socket.waitForInput(upTo: time, unless: interrupt)
  }

  /// Receives and passes on the bytes that have arrived.
  func receiveInput() { if isOpen { socketIsReadable(socket) } }

  /// Whether bytes are received. Otherwise the peer has to wait.
  var isReading: Bool {
    get { socket.interest.contains(.read) }
    set { if newValue { socket.interest.insert(.read) } else { socket.interest.remove(.read) } }
  }

  /// Adds a TLS session inside the others and begins its handshake.
  func add(_ session: TLSSession) {
    layers.append(session)
    pass(UnsafeRawBufferPointer(start: nil, count: 0), through: layers.count - 1)
  }

  /// Accepts the server of the innermost layer although its chain was refused.
  func acceptRefusedChain() { layers.last?.acceptRefusedChain() }

  /// Passes nothing on until ``release()``. Called when a layer is secure.
  func hold() {
    isHeld = true
    isReading = false
  }

  /// Passes on the bytes that have arrived, and all that follow.
  func release() {
    isHeld = false
    isReading = true
    pass(UnsafeRawBufferPointer(start: nil, count: 0), through: layers.count - 1)
  }

  /// Ends the client's direction: in the innermost session, or in the socket if there is none.
  func finishSending() {
    guard isOpen else { return }
    guard let innermost = layers.last else { return socket.finishSending() }
    innermost.close()
    _ = flush()
  }

  /// Whether encrypted bytes wait for the network. The owner is notified when there is room.
  var hasUnsentBytes: Bool { layers.first.map { !$0.outgoing.isEmpty } ?? false }

  /// Notifies the owner in the next turn that there is room, so that one connection does not keep the others waiting.
  func sendInNextTurn() { if isOpen { socket.interest.insert(.write) } }

  /// Ends the client's direction after these bytes and gives away the socket, with the bytes that the network has not
  /// taken. The owner gets no further calls.
  func giveAway(after bytes: SendBuffer) -> (socket: Socket, unsent: SendBuffer)? {
    guard isOpen else { return nil }
    defer { isGivenAway = true }
    guard let innermost = layers.last, let outermost = layers.first else { return (socket, bytes) }
    do { try bytes.withUnsafeBytes { try innermost.write($0) } } catch { return (socket, SendBuffer()) }
    for session in layers.reversed() {
      session.close()
      _ = flush()
    }
    return (socket, outermost.outgoing)
  }

  /// Announces the end and closes the socket. The owner gets no further calls.
  func close() {
    guard isOpen else { return }
    if let step = step.take() {
      step.abandon()
      layers.removeLast()
    }
    for session in layers.reversed() {
      session.close()
      _ = flush()  // before the enclosing layer announces its end
    }
    socket.close()
  }
}

// MARK: - Sending

extension LayeredSocket {
  /// How many encrypted bytes may wait for the network.
  private static let highWater = 64 << 10
  /// How many encrypted bytes may wait, including the TLS replies that a peer asks for and does not read. More than
  /// ``highWater``, which limits everything else.
  private static let waitingLimit = 3 * highWater

  /// Sends bytes.
  ///
  /// - Parameter hasMore: whether more bytes follow at once.
  /// - Returns: how many bytes were taken. If not all were, the owner is notified when there is room. nil if the
  ///   connection takes no more; bytes that the peer had sent before are still received.
  func send(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Int? {
    guard isOpen else { return nil }
    // Nothing is sent while the server gets a client certificate for which it asked after the handshake.
    guard !bytes.isEmpty, secureCount == layers.count else { return 0 }
    guard let innermost = layers.last, let outermost = layers.first else { return sendPlain(bytes, hasMore: hasMore) }
    var taken = 0
    let sentBefore = sentCount
    while taken < min(bytes.count, TurnLimit.byteLimit) {
      if outermost.outgoing.count >= Self.highWater {
        // Bytes that may have reached the peer count as sent; the next call reports the failure.
        guard flush() != nil else { return taken > 0 && sentCount != sentBefore ? taken : nil }
        if outermost.outgoing.count >= Self.highWater { return taken }
      }
      let part = UnsafeRawBufferPointer(rebasing: bytes[taken...].prefix(Self.highWater))
      do throws(HTTPError) { try innermost.write(part) } catch { return nil }
      taken += part.count
    }
    if taken < bytes.count { socket.interest.insert(.write) }  // continues in the next turn
    if hasMore && taken == bytes.count { return taken }
    return flush() != nil || sentCount != sentBefore ? taken : nil
  }

  private func sendPlain(_ bytes: UnsafeRawBufferPointer, hasMore: Bool) -> Int? {
    switch socket.send(bytes, hasMore: hasMore) {
    case .bytes(let count):
      sentCount &+= count
      if count < bytes.count { socket.interest.insert(.write) }
      return count
    case .notReady:
      socket.interest.insert(.write)
      return 0
    case .end, .failed:
      socket.interest = .read
      return nil
    }
  }

  /// Sends the encrypted bytes of the sessions. Returns whether all of them were sent; nil if the connection takes no
  /// more.
  private func flush() -> Bool? {
    let layers = step == nil ? layers : layers.dropLast()
    guard let outermost = layers.first else { return true }
    for (outer, inner) in zip(layers, layers.dropFirst()).reversed() where !inner.outgoing.isEmpty {
      do { try inner.outgoing.withUnsafeBytes { try outer.write($0) } } catch { return nil }
      inner.outgoing.consume(inner.outgoing.count)
    }
    while !outermost.outgoing.isEmpty {
      guard let count = outermost.outgoing.withUnsafeBytes({ sendPlain($0, hasMore: false) }) else {
        outermost.outgoing = SendBuffer()
        return nil
      }
      guard count > 0 else { return false }
      outermost.outgoing.consume(count)
    }
    return true
  }

  func socketIsWritable(_ socket: Socket) {
    socket.interest.remove(.write)
    // Also if the connection takes no more: the owner's next bytes are then refused.
    if flush() != false { owner?.becameWritable() }
  }
}

// MARK: - Receiving

extension LayeredSocket {
  func socketIsReadable(_ socket: Socket) {
    var limit = TurnLimit()
    while true {
      let place = layers.isEmpty ? owner?.bodyMemory : nil
      let room = place ?? memory.room(ofLayer: 0)
      let result = socket.receive(into: room)
      if place == nil {
        memory.received(result.count)
      } else {
        owner?.received(inBodyMemory: UnsafeRawBufferPointer(rebasing: room[..<result.count]))
      }
      switch result {
      case .bytes(let count):
        if place == nil { pass(UnsafeRawBufferPointer(rebasing: room[..<count]), through: 0) }
        // Bytes after a body that was received into the owner's memory must be found before the next request is sent:
        // they are not its response.
        let mayHaveEnded = place != nil && owner?.bodyMemory == nil
        guard count == room.count, isOpen, isReading, limit.allowsMore(after: count) || mayHaveEnded else { return }
      case .notReady: return
      case .end: return ended(.clean)
      case .failed(let code): return ended(.failed(code))
      }
    }
  }

  func socketFailed(_ socket: Socket, _ code: Int32) { ended(.failed(code)) }

  private func ended(_ end: InputEnd) {
    guard !layers.isEmpty else {
      owner?.receivedEnd(end)
      return
    }
    // The sessions decide what the end means: a clean end was already read as close_notify.
    receiveEnd(in: 0)
    finish(with: end)
  }

  /// Reports the end of the connection after the sessions have received it, which is later if one is in a handshake.
  private func finish(with end: InputEnd) {
    guard isOpen else { return }
    guard step == nil else {
      self.end = end
      isReading = false
      return
    }
    owner?.receivedEnd(end == .clean ? .cutOff : end)
  }

  /// Ends the bytes of a layer.
  private func receiveEnd(in layer: Int) {
    if step != nil, layer + 1 == layers.count { return arrived.hasEnded = true }
    layers[layer].receiveEnd()
    pass(UnsafeRawBufferPointer(start: nil, count: 0), through: layer)
  }

  /// Decrypts bytes of a layer and passes on their content.
  private func pass(_ bytes: UnsafeRawBufferPointer, through layer: Int) {
    guard layers.indices.contains(layer) else {
      if !bytes.isEmpty { owner?.received(bytes) }
      return
    }
    guard layer < secureCount else { return continueHandshake(with: bytes) }
    let session = layers[layer]
    do throws(HTTPError) {
      try session.withReceived(bytes) { () throws(HTTPError) in
        if isOpen && !isHeld { try read(session, layer) }
      }
    } catch { return failed(session, error) }
    guard isOpen else { return }
    if session.isReauthenticating {
      secureCount = layer
      return continueHandshake(with: UnsafeRawBufferPointer(start: nil, count: 0))
    }
    guard !session.outgoing.isEmpty else { return }
    _ = flush()
    guard let waiting = layers.first?.outgoing.count, waiting > Self.waitingLimit else { return }
    owner?.layerFailed(session, session.violation("asks for replies of TLS, and does not read them"))
  }

  private func read(_ session: TLSSession, _ layer: Int) throws(HTTPError) {
    let room = memory.room(ofLayer: layer + 1)
    while isOpen {
      switch try session.read(into: room) {
      case .bytes(let count): pass(UnsafeRawBufferPointer(rebasing: room[..<count]), through: layer + 1)
      case .needsMore: return
      case .end(let isClean):
        guard layer + 1 == layers.count else { return receiveEnd(in: layer + 1) }
        guard !hasReadEnd else { return }
        hasReadEnd = true
        owner?.receivedEnd(isClean ? .clean : .cutOff)
        return
      }
    }
  }

  private func failed(_ session: TLSSession, _ error: HTTPError) {
    _ = flush()  // an alert that says why
    if isOpen { owner?.layerFailed(session, error) }
  }
}

// MARK: - Handshakes

extension LayeredSocket {
  /// Continues the handshake of the innermost layer with bytes that have arrived: on another thread, unless the server
  /// may resume a session.
  private func continueHandshake(with bytes: UnsafeRawBufferPointer) {
    guard isOpen, let session = layers.last else { return }
    guard step == nil else {
      arrived.bytes.append(bytes)
      if arrived.bytes.count >= Self.highWater { isReading = false }
      return
    }
    session.receive(bytes)
    let step = HandshakeStep(session)
    self.step = step
    if session.mayBeResumed {
      step.run()
      ended(step)
    } else {
      owner?.run(step)
    }
  }

  /// Takes back the session after a step of its handshake.
  func ended(_ step: HandshakeStep) {
    guard isOpen, self.step === step else { return }
    self.step = nil
    let layer = layers.count - 1
    let isComplete: Bool
    switch step.result {
    case .failure(let error): return failed(step.session, error)
    case .success(let result): isComplete = result
    }
    let (bytes, hasEnded) = arrived
    arrived = (SendBuffer(), false)
    if end == nil { isReading = true }
    if isComplete {
      secureCount = layers.count
      owner?.layerIsSecure(step.session)
      guard isOpen else { return }
    } else {
      _ = flush()
    }
    if hasEnded { step.session.receiveEnd() }
    if isComplete || hasEnded || !bytes.isEmpty || step.session.received.count > 0 {
      bytes.withUnsafeBytes { pass($0, through: layer) }
    }
    if let end = end.take() { finish(with: end) }
  }
}
#endif
