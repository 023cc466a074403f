@_spi(Toolkit) @_spi(Transports) import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import Synchronization

/// A WebSocket over the bytes of an upgraded connection (RFC 6455). A separate task reads the connection, so that pings
/// are answered even while no task receives messages, as long as there is room for the messages that arrive.
final class FramedConnection: MessageChannel {
  /// The settings and facts that hold for the whole connection.
  struct Terms: Sendable {
    /// The agreed compression; nil for none.
    var compression: DeflateAgreement?
    /// The maximum ratio of decompressed to received bytes of a message; nil for no limit.
    var ratioLimit: Int?
    var options: WebSocket.Options
    var clock: any Clock<Duration>
    var reporter: MessageReporter
    /// The request and the response that opened it, for errors.
    var request: RequestHead
    var response: ResponseHead
  }

  private struct State: Sendable {
    var phase = Phase.open
    /// How it was closed; nil while it is open.
    var end: CloseFrame?
    /// Why it ended, for the callers that use it.
    var error: HTTPError?
    /// Limits how long the phase lasts; in an open connection, it tests the peer.
    var alarm: Alarm?
  }

  private enum Phase {
    case open
    /// A Close frame was sent or received.
    case closing
    /// Both sides have sent their Close frames. It lasts until the peer drops the connection.
    case dropping
    case closed
  }

  let terms: Terms
  private let stream: any DuplexStream
  private let writer: FrameWriter
  private let queue: PieceQueue
  private let pings: PingTable
  private let state = Mutex(State())
  private let closing = ClosingActions()
  /// Whether bytes were received since the last check.
  private let hasReceived = Atomic(false)

  init(_ stream: any DuplexStream, _ terms: Terms) {
    self.stream = stream
    self.terms = terms
    writer = FrameWriter(stream, terms.compression)
    pings = PingTable(terms.clock)
    // Not small, because the server's pings wait behind the messages.
    queue = PieceQueue(highWater: min(max(terms.options.messageLimit, 32 << 10), 1 << 20))
  }

  func start() {
    // Decompressing and listeners may take long, and the thread serves other connections.
    let isQuick = terms.compression == nil && !terms.reporter.hasListeners
    let executor = isQuick ? stream.executor : nil
    Task.detached(executorPreference: executor) { await self.run() }
    keepAlive()
    stream.whenShuttingDown { [weak self] in self?.shutDown() }
  }

  // MARK: - Messages

  func receive() async throws(HTTPError) -> MessagePiece? {
    if queue.isEmpty { stream.awaitAnswer() }
    return try await queue.next()
  }

  func beginMessage() async throws(HTTPError) { try await writer.begin() }

  func send(_ piece: MessagePiece) async throws(HTTPError) {
    if let error { throw error }
    terms.reporter.sent(piece)  // first: the answer may arrive before this task goes on
    try await writer.send(piece)
  }

  func endMessage() { writer.end() }

  var closeFrame: CloseFrame? { state.withLock { $0.end } }

  var error: HTTPError? { state.withLock { $0.error } ?? writer.error }

  func ping() async throws(HTTPError) -> Duration {
    if let error { throw error }
    let (payload, answer) = pings.add()
    writer.post(.ping, payload)
    let alarm = Alarm(after: terms.options.pongTimeout, on: terms.clock) { [unanswered] in
      answer.answer(.failure(unanswered))
    }
    defer { alarm.cancel() }
    do { return try await answer.wait() } catch {
      pings.remove(payload)
      throw HTTPError(wrapping: error)
    }
  }

  /// Whether the server has to wait, because no task receives messages.
  var isFull: Bool { queue.isFull }

  // MARK: - Reading

  private func run() async {
    var reader = FrameReader(terms.compression, ratioLimit: terms.ratioLimit)
    var eventCount = 0
    do {
      while let bytes = try await stream.read(missing: reader.missing) {
        hasReceived.store(true, ordering: .relaxed)
        reader.add(bytes)
        while let event = try reader.next() {
          if case .piece(let piece) = event {
            terms.reporter.received(piece)
            // Usually there is room, which saves an asynchronous call.
            if let isWanted = queue.add(piece) {
              reader.skipsMessages = !isWanted
            } else {
              reader.skipsMessages = await !queue.room()
            }
          } else if take(event) {
            return await endAfterCloseFrames()
          }
          eventCount += 1
          if eventCount % Self.eventsPerTurn == 0 { await Task.yield() }
        }
      }
      beginClosing(HTTPError(.connectionLost, "the server ended the connection without closing the WebSocket"))
    } catch let fault as WebSocketFault {
      // The messages before the fault were valid: the program first receives them, and may answer them.
      await queue.waitUntilReceived(within: terms.options.closeTimeout, on: terms.clock)
      fail(fault, violation(fault))
      return await readUntilDropped()
    } catch { beginClosing(HTTPError(wrapping: error)) }
    connectionEnded()
  }

  /// After how many events the thread, which may serve other connections, has a chance to do so. A MiB holds half a
  /// million pings or empty frames, which would otherwise keep it for most of a second.
  private static let eventsPerTurn = 500

  /// Takes a control frame. Returns whether it is the last frame.
  private func take(_ event: FrameReader.Event) -> Bool {
    switch event {
    case .piece, .nothing: break
    case .ping(let payload): writer.post(.pong, payload)
    case .pong(let payload): pings.answer(payload)
    case .close(let frame):
      beginClosing(.webSocketClosed(by: frame), by: frame, sending: CloseFrame(code: frame.code))
      return true
    }
    return false
  }

  /// Ends the connection after both Close frames. RFC 6455 §7.1.1 expects the server to end it.
  private func endAfterCloseFrames() async {
    guard stream.isShared else {
      // The program may be closing the WebSocket at the same moment: its limit must not replace this one.
      state.withLock { if $0.phase == .closing { $0.phase = .dropping } }
      setAlarm(min(terms.options.closeTimeout, terms.options.dropTimeout), in: .dropping) { $0.stream.close() }
      return await readUntilDropped()
    }
    // A server has to end a TCP connection first, but it need not end a shared one. Also, hypercorn closes the
    // connection with all of its streams if it gets END_STREAM after it has ended its own direction.
    await writer.flush()
    stream.leave()
    connectionEnded()
  }

  /// Reads until the peer drops the connection, which RFC 6455 §7.1.1 expects of the server.
  private func readUntilDropped() async {
    while let _ = try? await stream.read() {}
    connectionEnded()
  }

  private func violation(_ fault: WebSocketFault) -> HTTPError {
    HTTPError(
      fault.code == 1009 ? .bodyTooLarge : .protocolViolation, "the server violates WebSocket: \(fault.reason)",
      phase: .receiving)
  }

  // MARK: - The end

  func close(_ frame: CloseFrame) async {
    guard state.withLock({ $0.phase != .closed }) else { return }
    beginClosing(with: frame)
    do { try await waitUntilClosed() } catch { stream.close() }
  }

  func whenClosed(_ action: @escaping @Sendable () -> Void) { closing.add(action) }

  func abandon() {
    beginClosing(with: CloseFrame(code: WebSocket.CloseCode.goingAway.rawValue))
  }

  func shutDown() {
    beginClosing(
      HTTPError(.shutDown, "the WebSocket is closed: its session shuts down"),
      sending: CloseFrame(code: WebSocket.CloseCode.goingAway.rawValue), isIntended: true)
  }

  /// Begins to close for the program, and drops unread messages.
  private func beginClosing(with frame: CloseFrame) {
    let error = HTTPError(.shutDown, "the WebSocket is closed: this program closed it")
    beginClosing(error, sending: frame, isIntended: true)
    queue.discard(.success(()))
  }

  func fail(_ fault: WebSocketFault, _ error: HTTPError) {
    beginClosing(error, sending: CloseFrame(code: fault.code))
  }

  /// Ends the use of the WebSocket. The connection stays until the peer drops it, within a limit.
  ///
  /// - Parameters:
  ///   - error: the reason, for the callers that use the WebSocket.
  ///   - frame: the Close frame of the peer; nil if none was received.
  ///   - answer: the Close frame to send; nil if the connection is lost.
  ///   - isIntended: whether this program ends it: sequences of messages then end without an error.
  private func beginClosing(
    _ error: HTTPError, by frame: CloseFrame? = nil, sending answer: CloseFrame? = nil, isIntended: Bool = false
  ) {
    let placed = error.addingContext(request: terms.request, response: terms.response, history: [])
    let (isFirst, reason) = state.withLock { state in
      let isFirst = state.phase == .open
      if isFirst { state.phase = .closing }
      if let frame {
        state.end = frame
      } else if answer == nil, state.end == nil {
        state.end = CloseFrame(code: WebSocket.CloseCode.abnormalClosure.rawValue)
      }
      let reason = state.error ?? placed
      state.error = reason
      return (isFirst, reason)
    }
    if let frame { terms.reporter.closed(.received, by: frame) }
    if isFirst, frame == nil, let answer { terms.reporter.closed(.sent, by: answer) }
    writer.refuse(reason)  // first: no message may follow the Close frame (§5.5.1)
    if let answer { writer.post(.close, answer.payload) }
    pings.fail(reason)
    queue.finish(isIntended || frame?.isOrderly ?? false ? .success(()) : .failure(reason))
    if isFirst { setAlarm(terms.options.closeTimeout) { $0.stream.close() } }
  }

  /// Closes the WebSocket after the end of its connection.
  private func connectionEnded() {
    stream.close()
    state.withLock { state in
      if state.end == nil { state.end = CloseFrame(code: WebSocket.CloseCode.abnormalClosure.rawValue) }
    }
    terms.reporter.ended(failure)
    let alarm = state.withLock { state in
      state.phase = .closed
      return state.alarm.take()
    }
    alarm?.cancel()
    closing.run()
  }

  // MARK: - Keeping alive

  /// Checks after the interval whether the peer is still there.
  private func keepAlive() {
    guard let interval = terms.options.pingInterval else { return }
    setAlarm(max(interval, .milliseconds(1)), in: .open) { $0.checkPeer() }
  }

  private func checkPeer() {
    guard !isHeard else { return keepAlive() }
    writer.post(.ping, Data())
    setAlarm(terms.options.pongTimeout, in: .open) { connection in
      guard !connection.isHeard else { return connection.keepAlive() }
      connection.beginClosing(connection.unanswered)
      connection.stream.close()
    }
  }

  /// The error of a ping that was not answered in time.
  private var unanswered: HTTPError {
    let limit = Quantity.text(terms.options.pongTimeout)
    let hint = isFull ? ": messages wait that this program has not received, and the answer may be behind them" : ""
    return HTTPError(.idleTimeout, "the server did not answer a ping within \(limit)\(hint)")
  }

  /// Whether bytes were received since the last check, or could not be because no task receives messages.
  private var isHeard: Bool { hasReceived.exchange(false, ordering: .relaxed) || isFull }

  /// Sets the alarm of a phase, in place of an earlier one.
  private func setAlarm(
    _ time: Duration, in phase: Phase = .closing, _ action: @escaping @Sendable (FramedConnection) -> Void
  ) {
    let replaced = state.withLock { state -> Alarm? in
      guard state.phase == phase else { return nil }
      defer {
        // Under the lock: it may be due at once, and set the next alarm, which must not be replaced by this one.
        state.alarm = Alarm(after: time, on: terms.clock) { [weak self] in if let self { action(self) } }
      }
      return state.alarm
    }
    replaced?.cancel()
  }
}
