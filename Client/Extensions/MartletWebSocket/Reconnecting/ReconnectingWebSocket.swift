@_spi(Toolkit) @_spi(Transports) public import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import Synchronization

extension HTTPSession {
  /// Returns a WebSocket that is opened again when it is lost. Nothing is sent before it is used.
  ///
  /// ```swift
  /// let room = session.reconnectingWebSocket(for: HTTPRequest(.get, url)) { socket in
  ///   try await socket.send(.string(#"{"join": "tea"}"#))  // on every connection, before anything else
  /// }
  /// for try await message in room { print(message) }
  /// ```
  ///
  /// - Parameters:
  ///   - request: the request of each opening handshake, as for ``webSocket(for:protocols:options:)``.
  ///   - protocols: the subprotocols that the program speaks, in order of preference.
  ///   - options: the options of each connection.
  ///   - reconnection: when another connection is opened.
  ///   - opened: called with each new connection, to send what the server has to know before other messages are sent
  ///     and received. It may also receive the server's answers, because the reconnecting WebSocket waits for the
  ///     closure. The closure has no time limit except its own. If it throws an error, the connection is closed, and
  ///     the attempt fails with this error; an error of another type than ``Martlet/HTTPError`` is final. If the server
  ///     has closed the connection in the meantime, its code decides as it does later.
  public func reconnectingWebSocket(
    for request: HTTPRequest, protocols: [String] = [], options: WebSocket.Options = .init(),
    reconnection: Reconnection = .init(),
    opened: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) -> ReconnectingWebSocket {
    ReconnectingWebSocket(reconnection, clock: configuration.clock, now: configuration.now) { [self] in
      let socket = try await webSocket(for: request, protocols: protocols, options: options)
      do { try await opened(socket) } catch {
        let frame = socket.channel.closeFrame
        await socket.close(.goingAway)
        throw OpeningFailure(error: HTTPError(wrapping: error), frame: frame)
      }
      return socket
    }
  }
}

/// Why a connection could not be used: it could not be opened, or the program's closure threw an error.
private struct OpeningFailure: Error {
  let error: HTTPError
  /// How the server closed the connection while the closure ran; nil if it did not.
  var frame: CloseFrame?

  init(error: HTTPError, frame: CloseFrame?) { (self.error, self.frame) = (error, frame) }

  init(wrapping error: any Error) {
    self = error as? OpeningFailure ?? OpeningFailure(error: HTTPError(wrapping: error), frame: nil)
  }
}

/// A WebSocket that is opened again when it is lost. `reconnectingWebSocket(for:)` of ``Martlet/HTTPSession`` makes it.
///
/// The first use opens it. After a connection is lost, the next use opens another, but not before a delay since the
/// loss is over; a waiting receiver counts as a use. Messages that arrived on the old connection are received first,
/// even if `opened` has already run for the new one. If messages may have been lost in between, ask the server in
/// `opened` to send them again, and drop messages that the program already has.
///
/// A message whose ``send(_:)`` threw an error may or may not have reached the server, and the same is true of the last
/// messages before a loss. The program decides which of them to send again. While there is no connection, a send waits
/// for the next one; cancelling it then does no harm.
///
/// When the last reference is released, the connection is closed, and no other is opened.
public final class ReconnectingWebSocket: Sendable {
  /// The state of the connection.
  @nonexhaustive public enum State: Sendable {
    /// It has not been used yet, or was lost and will be opened again by the next use.
    case idle
    /// It is being opened.
    case connecting
    /// It is open.
    case open
    /// Another attempt follows after this time. The error has made it necessary.
    case waiting(Duration, HTTPError)
    /// There will be no other connection: the WebSocket was closed in order (nil), or the error is final.
    case ended(HTTPError?)
  }

  private struct Content: Sendable {
    var state = State.idle
    /// The open connection.
    var socket: WebSocket?
    /// The connections whose messages may be unread, the oldest first.
    var unread: [WebSocket] = []
    /// How the last connection was closed.
    var closeFrame: CloseFrame?
    /// The pause before the next connection, after the last one was lost.
    var pause: Pause?
    /// The callers that wait for a connection.
    var waiting: [OneShot<WebSocket>] = []
    var connecting: Task<Void, Never>?
    /// When the last connection was opened; nil before the first one.
    var opened: Stopwatch?
    /// The delays, and the failures in a row.
    var rule: ReconnectRule
    /// Why there will be no other connection.
    var end: HTTPError?
    /// Whether either side has closed it in order.
    var hasEndedInOrder = false

    /// Ends it, unless it has ended. Returns the callers that fail with it.
    mutating func end(_ error: HTTPError, inOrder: Bool) -> Waiters {
      if end == nil { (end, hasEndedInOrder, state) = (error, inOrder, .ended(inOrder ? nil : error)) }
      defer { (waiting, connecting) = ([], nil) }
      return Waiters(connecting: connecting, waiting: waiting)
    }
  }

  /// The callers that wait for a connection, and the attempt to open it.
  private struct Waiters {
    let connecting: Task<Void, Never>?
    let waiting: [OneShot<WebSocket>]

    func fail(_ error: HTTPError) {
      connecting?.cancel()
      for wait in waiting { wait.answer(.failure(error)) }
    }
  }

  /// Whether another attempt may follow, the random part of the time before it, and the time that the server asked for.
  private struct ReconnectDecision {
    var mayReconnect: Bool
    var fraction: Double
    var asked = Duration.zero
  }

  /// The time before an attempt, and the error that makes it necessary.
  private struct Pause: Sendable {
    var delay: Duration
    var error: HTTPError
    var age: Stopwatch

    /// The pause without the time that has passed.
    var rest: Pause { Pause(delay: Swift.max(.zero, delay - age.elapsed), error: error, age: age) }
  }

  private let reconnection: Reconnection
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Date
  private let open: @Sendable () async throws -> WebSocket
  private let content: Mutex<Content>
  private let latest = LatestValue(State.idle)

  init(
    _ reconnection: Reconnection, clock: any Clock<Duration>, now: @escaping @Sendable () -> Date,
    _ open: @escaping @Sendable () async throws -> WebSocket
  ) {
    (self.reconnection, self.clock, self.now, self.open) = (reconnection, clock, now, open)
    content = Mutex(Content(rule: ReconnectRule(backoff: reconnection.backoff)))
  }

  deinit { content.withLock { $0.connecting }?.cancel() }

  /// The state of the connection.
  public var state: State { latest.current }

  /// The state of the connection, and its changes until this object is released: leave the loop at ``State/ended(_:)``.
  /// A slow reader gets only the latest.
  public var states: AsyncStream<State> { latest.values }

  /// The code with which the server closed the last connection: see ``WebSocket/closeCode``. nil before that.
  public var closeCode: WebSocket.CloseCode? { closeFrame.map(WebSocket.CloseCode.init(of:)) }

  /// The reason that the server gave for closing the last connection; nil if there is none.
  public var closeReason: String? {
    guard let reason = closeFrame?.reason, !reason.isEmpty else { return nil }
    return reason
  }

  /// The server's last Close frame. A connection that this program has closed stays the current one.
  private var closeFrame: CloseFrame? {
    let (socket, earlier) = content.withLock { ($0.socket, $0.closeFrame) }
    return socket?.channel.closeFrame ?? earlier
  }

  // MARK: - Messages

  /// Sends a message; waits for a connection if there is none. Runs off the caller's actor.
  ///
  /// - Throws: ``Martlet/HTTPError``, as ``WebSocket/send(_:)``; and the final error, if there will be no other
  ///   connection.
  @concurrent public func send(_ message: WebSocket.Message) async throws(HTTPError) {
    var socket = try await connection()
    while socket.channel.error != nil {  // It has ended: nothing of the message was sent.
      lose(socket)
      socket = try await connection()
    }
    do throws(HTTPError) { try await socket.send(message) } catch {
      if socket.channel.error != nil { lose(socket) }
      throw error
    }
  }

  /// Receives the next message; waits until there is one, on whichever connection. Runs off the caller's actor.
  ///
  /// - Returns: the message; nil after ``close(_:reason:)``, and when the server has closed the WebSocket in order and
  ///   ``Reconnection/reconnects`` does not want another connection.
  /// - Throws: ``Martlet/HTTPError``: the error after which there will be no other connection; `.cancelled` if the
  ///   task was cancelled.
  @concurrent public func receive() async throws(HTTPError) -> WebSocket.Message? {
    while true {
      let socket: WebSocket
      if let unread = content.withLock({ $0.unread.first }) {
        socket = unread
      } else {
        do throws(HTTPError) { socket = try await connection() } catch {
          if content.withLock({ $0.hasEndedInOrder }) { return nil }
          throw error
        }
      }
      do throws(HTTPError) {
        if let message = try await socket.inbox.message() { return message }
      } catch {
        // Otherwise a task that was cancelled while it sent has closed the connection.
        if error.isCancelled, Task.isCancelled || socket.channel.error == nil { throw error }
      }
      content.withLock { content in content.unread.removeAll { $0 === socket } }
      lose(socket)
    }
  }

  /// Closes the WebSocket for good, as ``WebSocket/close(_:reason:)`` does. Receivers end at once. A program that exits
  /// when its receiver ends must also await this method, so that the server is notified.
  @concurrent public func close(_ code: WebSocket.CloseCode = .normalClosure, reason: String = "") async {
    end(HTTPError(.shutDown, "the WebSocket is closed: this program closed it"), inOrder: true)
    // After the end: an attempt that succeeds later closes its connection itself.
    let socket = content.withLock { content in
      content.unread = []
      return content.socket
    }
    await socket?.close(code, reason: reason)
  }

  // MARK: - Connections

  /// Returns the open connection, or waits for one.
  private func connection() async throws(HTTPError) -> WebSocket {
    let wait = OneShot<WebSocket>()
    let ready: Result<WebSocket, HTTPError>? = content.withLock { content in
      if let end = content.end { return .failure(end) }
      if let socket = content.socket { return .success(socket) }
      content.waiting.append(wait)
      if content.connecting == nil { content.connecting = connect(after: content.pause.take()?.rest) }
      return nil
    }
    if let ready { return try ready.get() }
    do { return try await wait.wait() } catch {
      content.withLock { content in content.waiting.removeAll { $0 === wait } }
      throw HTTPError(wrapping: error)
    }
  }

  /// Opens a connection, with as many attempts as it takes. The task does not keep this object alive while it waits or
  /// connects.
  private func connect(after pause: Pause?) -> Task<Void, Never> {
    Task { [weak self, clock, open] in
      var pause = pause
      repeat {
        if let pause, pause.delay > .zero {
          self?.show(.waiting(pause.delay, pause.error))
          guard (try? await clock.sleep(for: pause.delay)) != nil else { return }
        }
        self?.show(.connecting)
        let result: Result<WebSocket, OpeningFailure>
        do { result = .success(try await open()) } catch { result = .failure(OpeningFailure(wrapping: error)) }
        guard let self else {
          if case .success(let socket) = result { await socket.close(.goingAway) }
          return
        }
        pause = await take(result)
      } while pause != nil
    }
  }

  /// Handles the result of an attempt. Returns the pause before the next one; nil if there will be none.
  private func take(_ result: Result<WebSocket, OpeningFailure>) async -> Pause? {
    let socket: WebSocket
    do throws(OpeningFailure) { socket = try result.get() } catch {
      let decision = decision(after: error.error, error.frame.map(WebSocket.CloseCode.init(of:)))
      let pause = content.withLock { content in
        if let frame = error.frame { content.closeFrame = frame }
        return self.pause(after: error.error, decision, &content)
      }
      if pause == nil { end(error.error, inOrder: error.error.kind == .shutDown || error.frame?.isOrderly == true) }
      return pause
    }
    let waiting = content.withLock { content -> [OneShot<WebSocket>]? in
      guard content.end == nil else { return nil }
      (content.socket, content.connecting, content.opened) = (socket, nil, Stopwatch(clock))
      content.state = .open
      content.unread = content.unread.suffix(Self.unreadLimit - 1) + [socket]
      defer { content.waiting = [] }
      return content.waiting
    }
    guard let waiting else {  // closed in the meantime
      await socket.close()
      return nil
    }
    publish()
    socket.channel.whenClosed { [weak self, weak socket] in
      guard let self, let socket else { return }
      Task { self.lose(socket) }  // calls the program, which must not hold up the thread that closed it
    }
    for wait in waiting { wait.answer(.success(socket)) }
    return nil
  }

  /// How many connections keep their messages for a program that does not receive.
  private static let unreadLimit = 4

  /// Returns the program's decision after a failure. Its closures are called without the lock, because they may use
  /// this object.
  private func decision(after error: HTTPError, _ code: WebSocket.CloseCode?) -> ReconnectDecision {
    let asked = error.response.flatMap { RetryAfter.delay(in: $0.fields, now: now()) }
    return ReconnectDecision(
      mayReconnect: reconnection.reconnects(error, code), fraction: reconnection.random(), asked: asked ?? .zero)
  }

  /// Counts a failure, of an attempt or of a connection. Returns the pause before the next attempt; nil if there will
  /// be none.
  private func pause(after error: HTTPError, _ decision: ReconnectDecision, _ content: inout Content) -> Pause? {
    content.rule.failed()
    // A name that was resolved before may be resolved again.
    let isUnknownHost = content.opened == nil && error.underlying is UnknownHostName
    guard decision.mayReconnect, !isUnknownHost, content.end == nil,
      content.rule.failures < reconnection.failureLimit ?? .max
    else { return nil }
    let delay = content.rule.delay(fraction: decision.fraction, asked: decision.asked)
    return Pause(delay: delay, error: error, age: Stopwatch(clock))
  }

  /// Handles the loss of a connection.
  private func lose(_ socket: WebSocket) {
    let error = socket.ended
    guard content.withLock({ $0.socket === socket && $0.end == nil }) else { return }
    // It is no failure if this side has closed the connection: a task was cancelled while it sent, or the session shuts
    // down.
    let isOwn = error.isCancelled || error.kind == .shutDown
    let decision =
      isOwn
      ? ReconnectDecision(mayReconnect: true, fraction: reconnection.random())
      : decision(after: error, socket.closeCode)
    let waiters = content.withLock { content -> Waiters? in
      guard content.socket === socket, content.end == nil else { return nil }
      (content.socket, content.closeFrame, content.state) = (nil, socket.channel.closeFrame, .idle)
      if let opened = content.opened { content.rule.ended(after: opened.elapsed) }
      guard !isOwn else {
        let delay = reconnection.backoff.delay(beforeRetry: 1, fraction: decision.fraction)
        content.pause = Pause(delay: delay, error: error, age: content.opened ?? Stopwatch(clock))
        return nil
      }
      content.pause = pause(after: error, decision, &content)
      return content.pause == nil ? content.end(error, inOrder: socket.channel.failure == nil) : nil
    }
    publish()
    waiters?.fail(error)
  }

  /// Ends the WebSocket: there will be no other connection.
  private func end(_ error: HTTPError, inOrder: Bool) {
    let waiters = content.withLock { $0.end(error, inOrder: inOrder) }
    publish()
    waiters.fail(error)
  }

  private func show(_ state: State) {
    content.withLock { if $0.end == nil { $0.state = state } }
    publish()
  }

  /// Publishes the state. If two threads do so at the same time, the later one publishes the newest state.
  private func publish() { latest.change { $0 = content.withLock { $0.state } } }
}

extension ReconnectingWebSocket: AsyncSequence {
  public typealias Element = WebSocket.Message
  public typealias Failure = HTTPError

  /// Returns an iterator over the messages: see ``receive()``.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }

  /// Receives messages.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let socket: ReconnectingWebSocket

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> WebSocket.Message? {
      try await socket.receive()
    }

    public mutating func next() async throws(HTTPError) -> WebSocket.Message? { try await next(isolation: nil) }
  }
}
