@_spi(Transports) import MartletEngine
@_spi(Toolkit) import MartletSemantics
import Synchronization

/// Sends the frames of a client. It sends one message at a time, because the frames of messages must not interleave
/// (RFC 6455 §5.4). Control frames are sent between the frames of a message, and never wait for its next piece.
final class FrameWriter: Sendable {
  fileprivate struct Control: Sendable {
    let isPong: Bool
    let frame: Data
  }

  fileprivate struct State: Sendable {
    /// Control frames that are due, in order.
    var controls: [Control] = []
    /// Whether a Close frame is due or was sent: nothing may follow it (§5.5.1).
    var isClosing = false
    /// Why nothing may be sent any more.
    var error: HTTPError?
    /// Why the connection takes no more bytes.
    var failure: HTTPError?
  }

  private let stream: any DuplexStream
  private let messages = AsyncLock()
  private let frames = AsyncLock()
  private let state = Mutex(State())
  private let masks = Mutex(MaskSource())
  /// nil if messages are not compressed.
  private let deflater: Mutex<MessageDeflater?>
  private let compresses: Bool

  /// The number of due control frames from which a new pong replaces the oldest one, as §5.5.3 allows.
  private static let controlLimit = 64

  init(_ stream: any DuplexStream, _ agreement: DeflateAgreement?) {
    self.stream = stream
    let deflater = agreement.flatMap { MessageDeflater(windowBits: $0.clientWindowBits, resets: $0.clientResets) }
    compresses = deflater != nil
    self.deflater = Mutex(deflater)
  }

  // MARK: - Messages

  /// Begins a message; waits for earlier messages.
  func begin() async throws(HTTPError) {
    if let error { throw error }
    // From here on, a cancellation would close the connection.
    if Task.isCancelled { throw HTTPError(wrapping: CancellationError()) }
    try await messages.acquire()
  }

  /// Sends a piece of the message that has begun, as one frame.
  func send(_ piece: MessagePiece) async throws(HTTPError) {
    try await frames.acquire()
    defer { endFrame() }
    if let error { throw error }
    // If it is known why the connection has ended, that is the better error.
    do { try await stream.write(frame(of: piece)) } catch {
      throw state.withLock { state in
        state.failure = state.failure ?? HTTPError(wrapping: error)
        return state.error ?? HTTPError(wrapping: error)
      }
    }
    if hasControls { await writeControls() }
  }

  /// Ends the message; the next one may begin.
  func end() { messages.release() }

  private func endFrame() {
    frames.release()
    sendControlsIfFree()
  }

  private func frame(of piece: MessagePiece) -> Data {
    let mask = masks.withLock { $0.next() }
    let opcode: WebSocketFrameHeader.Opcode = piece.isFirst ? piece.isText ? .text : .binary : .continuation
    func masked(_ payload: UnsafeRawBufferPointer) -> Data {
      WebSocketFrameHeader(
        opcode, length: payload.count, isFinal: piece.isLast, isCompressed: compresses && piece.isFirst, mask: mask
      ).frame(payload)
    }
    guard compresses else { return piece.bytes.withUnsafeBytes(masked) }
    let packed = deflater.withLock { deflater in
      piece.bytes.withUnsafeBytes { deflater?.compress($0, isLast: piece.isLast) ?? [] }
    }
    return packed.withUnsafeBytes(masked)
  }

  /// Why nothing can be sent any more; nil while it can.
  var error: HTTPError? { state.withLock { $0.error ?? $0.failure } }

  // MARK: - Control frames

  /// Sends a control frame as soon as possible, without waiting for it. A Close frame is the last frame.
  func post(_ opcode: WebSocketFrameHeader.Opcode, _ payload: Data) {
    let mask = masks.withLock { $0.next() }
    let header = WebSocketFrameHeader(opcode, length: payload.count, mask: mask)
    let frame = payload.withUnsafeBytes { header.frame($0) }
    state.withLock { state in
      guard !state.isClosing else { return }
      state.add(Control(isPong: opcode == .pong, frame: frame), limit: Self.controlLimit)
      state.isClosing = opcode == .close
    }
    sendControlsIfFree()
  }

  private var hasControls: Bool { state.withLock { !$0.controls.isEmpty } }

  /// Sends the control frames that are due, unless a frame is being sent; they then follow it. A separate task sends
  /// them, because the network may have no room.
  private func sendControlsIfFree() {
    guard hasControls, frames.acquireIfFree() else { return }
    Task.detached {
      await self.writeControls()
      self.endFrame()
    }
  }

  /// Sends the control frames that are due. When the connection takes no more bytes, they are forgotten.
  private func writeControls() async {
    while let control = state.withLock({ $0.nextControl() }) {
      do { try await stream.write(control) } catch { state.withLock { $0.controls = [] } }
    }
  }

  /// Waits until the connection has taken the control frames that are due.
  func flush() async {
    do { try await frames.acquire(outlastsClosing: true) } catch { return }
    await writeControls()
    endFrame()
  }

  // MARK: - The end

  /// Refuses further messages, with this error. Control frames that are due are still sent.
  func refuse(_ error: HTTPError) {
    state.withLock { state in state.error = state.error ?? error }
    messages.close(with: error)
    frames.close(with: error)
  }
}

extension FrameWriter.State {
  fileprivate mutating func add(_ control: FrameWriter.Control, limit: Int) {
    if control.isPong, controls.count >= limit {
      guard let oldest = controls.firstIndex(where: \.isPong) else { return }
      controls.remove(at: oldest)
    }
    controls.append(control)
  }

  fileprivate mutating func nextControl() -> Data? { controls.isEmpty ? nil : controls.removeFirst().frame }
}
