@_spi(Transports) public import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
@_spi(Toolkit) @_spi(Transports) public import MartletWebSocket
import Synchronization

/// The server's side of a WebSocket of a ``MockTransport``: see ``MockResponse/webSocket(subprotocol:_:)``.
///
/// Its messages do not pass a network: nothing is framed, masked or compressed, and pings are answered at once. For
/// those use ``LoopbackServer``.
public final class MockWebSocket: Sendable {
  fileprivate let channel: MockChannel

  fileprivate init(_ channel: MockChannel) { self.channel = channel }

  /// Sends a message. It waits while the client has many messages to receive.
  ///
  /// - Throws: an error after the end of the WebSocket. A closure of a mock should rethrow it, as all errors of this
  ///   type.
  public func send(_ message: WebSocket.Message) async throws { try await channel.deliver(message) }

  /// Waits for the next message of the client. nil after the client closed the WebSocket.
  public func receive() async throws -> WebSocket.Message? {
    try await channel.receiving.acquire()
    defer { channel.receiving.release() }
    var bytes = Data()
    while let piece = try await channel.fromClient.next() {
      bytes.append(piece.bytes)
      if piece.isLast { return WebSocket.Message(isText: piece.isText, bytes) }
    }
    return nil
  }

  /// Closes the WebSocket.
  public func close(_ code: WebSocket.CloseCode = .normalClosure, reason: String = "") {
    let sent = code == .noStatusReceived ? nil : code.rawValue
    channel.closeByServer(CloseFrame(code: sent, reason: reason))
  }

  /// Ends the WebSocket like a lost connection: the client gets this error, after the messages that were sent before.
  public func lose(with error: HTTPError = HTTPError(.connectionLost, "the mock lost the connection")) {
    channel.end(error)
  }

  /// The code and the reason with which the client closed the WebSocket; nil before.
  public var clientClose: (code: WebSocket.CloseCode, reason: String)? {
    channel.clientClose.map { (WebSocket.CloseCode(of: $0), $0.reason) }
  }
}

extension MockResponse {
  /// Opens a WebSocket, and serves it with a closure. It is closed when the closure returns.
  ///
  /// ```swift
  /// let transport = MockTransport { _ in
  ///   .webSocket { socket in while let message = try await socket.receive() { try await socket.send(message) } }
  /// }
  /// let socket = try await HTTPSession(transport: transport).webSocket(for: HTTPRequest(.get, "wss://a.example/"))
  /// ```
  ///
  /// - Parameters:
  ///   - subprotocol: the subprotocol that the server chooses; none by default.
  ///   - serve: serves the WebSocket. An error that it throws ends the WebSocket like a lost connection. When the
  ///     client closes the WebSocket, its task is cancelled.
  public static func webSocket(
    subprotocol: String? = nil, _ serve: @escaping @Sendable (MockWebSocket) async throws -> Void
  ) -> MockResponse {
    var response = MockResponse(status: .switchingProtocols)
    response.fields[.secWebSocketProtocol] = subprotocol
    response.serve = serve
    return response
  }
}

/// The messages of a mock's WebSocket, in memory.
final class MockChannel: MessageChannel {
  private struct State: Sendable {
    var closeFrame: CloseFrame?
    var clientClose: CloseFrame?
    var error: HTTPError?
  }

  let fromClient = PieceQueue()
  private let toClient = PieceQueue()
  private let sending = AsyncLock()
  /// The server's side may be used by several tasks.
  let receiving = AsyncLock()
  private let delivering = AsyncLock()
  private let state = Mutex(State())
  private let closing = ClosingActions()
  private let reporter: MessageReporter
  private let serve: @Sendable (MockWebSocket) async throws -> Void

  /// Makes a WebSocket that a closure serves.
  init(in call: Call, _ serve: @escaping @Sendable (MockWebSocket) async throws -> Void) {
    reporter = MessageReporter(call)
    self.serve = serve
  }

  func start() {
    let server = MockWebSocket(self)
    let task = Task { [serve] in
      do {
        try await serve(server)
        server.close()
      } catch {
        server.lose(with: HTTPError(.connectionLost, "the mock's WebSocket has ended: \(error)"))
      }
    }
    whenClosed { task.cancel() }
  }

  // MARK: - The client's side

  func receive() async throws(HTTPError) -> MessagePiece? { try await toClient.next() }

  func beginMessage() async throws(HTTPError) {
    if let error { throw error }
    try await sending.acquire()
  }

  func send(_ piece: MessagePiece) async throws(HTTPError) {
    if let error { throw error }
    reporter.sent(piece)
    let isTaken = await withTaskCancellationHandler {
      await fromClient.push(piece)
    } onCancel: {
      end(HTTPError(.cancelled, "the task was cancelled while it sent a message"))
    }
    // The server may have closed the WebSocket because of the message: then it was sent nevertheless.
    if !isTaken, let error { throw error }
  }

  func endMessage() { sending.release() }

  func ping() async throws(HTTPError) -> Duration {
    if let error { throw error }
    return .zero
  }

  func close(_ frame: CloseFrame) async {
    leave(with: frame, HTTPError(.shutDown, "the WebSocket is closed: this program closed it"))
    toClient.discard(.success(()))
  }

  func abandon() {
    leave(with: Self.goingAway, HTTPError(.shutDown, "the WebSocket is closed: this program closed it"))
  }

  func shutDown() {
    leave(with: Self.goingAway, HTTPError(.shutDown, "the WebSocket is closed: its session shuts down"))
  }

  func fail(_ fault: WebSocketFault, _ error: HTTPError) { leave(with: CloseFrame(code: fault.code), error) }

  private static let goingAway = CloseFrame(code: WebSocket.CloseCode.goingAway.rawValue)

  var closeFrame: CloseFrame? { state.withLock { $0.closeFrame } }

  var clientClose: CloseFrame? { state.withLock { $0.clientClose } }

  var error: HTTPError? { state.withLock { $0.error } }

  func whenClosed(_ action: @escaping @Sendable () -> Void) { closing.add(action) }

  // MARK: - The server's side

  func deliver(_ message: WebSocket.Message) async throws {
    try await delivering.acquire()
    defer { delivering.release() }
    if let error { throw error }
    reporter.received(message.piece)
    await toClient.push(message.piece)
  }

  func closeByServer(_ frame: CloseFrame) { end(.webSocketClosed(by: frame), closedBy: .received, frame) }

  private func leave(with frame: CloseFrame, _ error: HTTPError) { end(error, closedBy: .sent, frame) }

  // MARK: - The end

  /// Ends the WebSocket. The first end counts.
  ///
  /// - Parameters:
  ///   - error: why, for those who use it.
  ///   - direction: that of the Close frame; nil if the connection is lost.
  ///   - frame: the Close frame, which the other side answers with the same code.
  func end(_ error: HTTPError, closedBy direction: Event.Progress.Direction? = nil, _ frame: CloseFrame? = nil) {
    let isFirst = state.withLock { state in
      guard state.error == nil else { return false }
      state.error = error
      state.closeFrame = frame.map { direction == .sent ? CloseFrame(code: $0.code) : $0 } ?? Self.abnormal
      if direction == .sent { state.clientClose = frame }
      return true
    }
    guard isFirst else { return }
    if let direction, let frame { reporter.closed(direction, by: frame) }
    sending.close(with: error)
    toClient.finish(
      direction != nil && error.kind == .shutDown || frame?.isOrderly == true ? .success(()) : .failure(error))
    fromClient.finish(direction == nil ? .failure(error) : .success(()))
    reporter.ended(failure)
    closing.run()
  }

  private static let abnormal = CloseFrame(code: WebSocket.CloseCode.abnormalClosure.rawValue)
}
