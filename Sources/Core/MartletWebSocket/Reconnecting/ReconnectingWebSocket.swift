public import MartletEngine
import MartletSemantics
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
  ///   - opened: says what the server has to know on each new connection, before other messages are sent and received.
  ///     If it throws an error, the connection is closed, and the error counts as that of the attempt.
  public func reconnectingWebSocket(
    for request: HTTPRequest, protocols: [String] = [], options: WebSocket.Options = .init(),
    reconnection: Reconnection = .init(),
    opened: @escaping @Sendable (WebSocket) async throws -> Void = { _ in }
  ) -> ReconnectingWebSocket {
    ReconnectingWebSocket(reconnection, clock: configuration.clock) { [self] in
      let socket = try await webSocket(for: request, protocols: protocols, options: options)
      do { try await opened(socket) } catch {
        await socket.close(.goingAway)
        throw error
      }
      return socket
    }
  }
}

/// A WebSocket that is opened again when it is lost. `reconnectingWebSocket(for:)` of ``Martlet/HTTPSession`` makes it.
///
/// The first use opens it. When a connection is lost, the next use opens another one, after a delay; a receiver that
/// waits is such a use. Messages that arrived on the old connection are received first. What was lost in between, only
/// the server can say again: ask for it in the closure `opened`.
///
/// A message whose ``send(_:)`` has thrown an error may have reached the server or not. The program decides whether it
/// is sent again. While there is no connection, a send waits for the next one.
///
/// When the last reference is released, the connection is closed, and no other one is opened.
public final class ReconnectingWebSocket: Sendable {
  /// The state of the connection.
  @nonexhaustive public enum State: Sendable {
    /// It was not used yet, or is lost and will be opened by the next use.
    case idle
    /// It is being opened.
    case connecting
    /// It is open.
    case open
    /// Another attempt follows after this time. The error is that of the last one.
    case waiting(Duration, HTTPError)
    /// There will be no other connection: the WebSocket was closed in order (nil), or the error is final.
    case ended(HTTPError?)
  }

  private struct Content: Sendable {
    /// The open connection.
    var socket: WebSocket?
    /// The connection whose messages are being received: an earlier one until its last message.
    var reading: WebSocket?
    /// Those who wait for a connection.
    var waiting: [OneShot<WebSocket>] = []
    var connecting: Task<Void, Never>?
    /// When the current connection was opened.
    var opened = Stopwatch(ContinuousClock())
    /// The failures since the last message.
    var failures = 0
    /// Why there will be no other connection.
    var end: HTTPError?
    /// Whether either side has closed it in order.
    var hasEndedInOrder = false
  }

  private let reconnection: Reconnection
  private let clock: any Clock<Duration>
  private let open: @Sendable () async throws -> WebSocket
  private let content = Mutex(Content())
  private let latest = LatestValue(State.idle)

  init(
    _ reconnection: Reconnection, clock: any Clock<Duration>, _ open: @escaping @Sendable () async throws -> WebSocket
  ) {
    (self.reconnection, self.clock, self.open) = (reconnection, clock, open)
  }

  deinit { content.withLock { $0.connecting }?.cancel() }

  /// The state of the connection.
  public var state: State { latest.current }

  /// The state of the connection, and its changes until this object is released. A slow reader gets only the latest.
  public var states: AsyncStream<State> { latest.values }

  // MARK: - Messages

  /// Sends a message; waits for a connection if there is none. Runs off the caller's actor.
  ///
  /// - Throws: ``Martlet/HTTPError``, as ``WebSocket/send(_:)``; and the final error, if there will be no other
  ///   connection.
  @concurrent public func send(_ message: WebSocket.Message) async throws(HTTPError) {
    let socket = try await connection()
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
      let reading = content.withLock { $0.reading }
      let socket: WebSocket
      if let reading {
        socket = reading
      } else {
        do throws(HTTPError) { socket = try await connection() } catch {
          if content.withLock({ $0.hasEndedInOrder }) { return nil }
          throw error
        }
        content.withLock { $0.reading = socket }
      }
      do throws(HTTPError) {
        if let message = try await socket.inbox.message() {
          content.withLock { $0.failures = 0 }
          return message
        }
      } catch { if error.isCancelled { throw error } }
      content.withLock { if $0.reading === socket { $0.reading = nil } }
      lose(socket)
    }
  }

  /// Closes the WebSocket for good, as ``WebSocket/close(_:reason:)`` does.
  @concurrent public func close(_ code: WebSocket.CloseCode = .normalClosure, reason: String = "") async {
    let socket = content.withLock { $0.socket }
    end(HTTPError(.shutDown, "the WebSocket is closed: this program closed it"), inOrder: true)
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
      if content.connecting == nil { content.connecting = connect() }
      return nil
    }
    if let ready { return try ready.get() }
    do { return try await wait.wait() } catch { throw HTTPError(wrapping: error) }
  }

  /// Opens a connection, as often as it takes. The task does not keep this object.
  private func connect() -> Task<Void, Never> {
    Task { [weak self, clock] in
      var delay: Duration? = self?.delayAfterLoss
      while let time = delay {
        if time > .zero { guard (try? await clock.sleep(for: time)) != nil else { return } }
        delay = await self?.attempt()
      }
    }
  }

  /// The delay before the next connection: none before the first one.
  private var delayAfterLoss: Duration {
    let failures = content.withLock { $0.failures }
    return failures == 0 ? .zero : reconnection.backoff.delay(beforeRetry: failures, fraction: reconnection.random())
  }

  /// Makes an attempt. Returns the delay before the next one; nil if there will be none.
  private func attempt() async -> Duration? {
    show(.connecting)
    do {
      let socket = try await open()
      let waiting = content.withLock { content -> [OneShot<WebSocket>]? in
        guard content.end == nil else { return nil }
        (content.socket, content.connecting, content.opened) = (socket, nil, Stopwatch(clock))
        defer { content.waiting = [] }
        return content.waiting
      }
      guard let waiting else {  // closed in the meantime
        await socket.close()
        return nil
      }
      show(.open)
      for wait in waiting { wait.answer(.success(socket)) }
      return nil
    } catch {
      return delay(after: HTTPError(wrapping: error), nil)
    }
  }

  /// Counts a failure. Returns the delay before the next attempt; nil if the error is final.
  private func delay(after error: HTTPError, _ code: WebSocket.CloseCode?) -> Duration? {
    let failures = content.withLock { content in
      content.failures += 1
      return content.failures
    }
    guard reconnection.reconnects(error, code), failures < reconnection.failureLimit ?? .max else {
      end(error, inOrder: error.kind == .shutDown)
      return nil
    }
    var delay = reconnection.backoff.delay(beforeRetry: failures, fraction: reconnection.random())
    if let fields = error.response?.fields, let asked = RetryAfter.delay(in: fields, now: .now) {
      delay = Swift.max(delay, asked.bounded)
    }
    show(.waiting(delay, error))
    return delay
  }

  /// A connection is lost.
  private func lose(_ socket: WebSocket) {
    let isCurrent = content.withLock { content in
      guard content.socket === socket, content.end == nil else { return false }
      if content.opened.elapsed > reconnection.backoff.cap { content.failures = 0 }
      content.failures += 1
      return true
    }
    guard isCurrent else { return }
    let error = socket.ended
    // this side has closed the connection: a task was cancelled while it sent, or the session shuts down
    let isOwn = error.isCancelled || error.kind == .shutDown
    let failures = content.withLock { $0.failures }
    guard isOwn || reconnection.reconnects(error, socket.closeCode), failures < reconnection.failureLimit ?? .max
    else { return end(error, inOrder: socket.channel.failure == nil) }
    content.withLock { if $0.socket === socket { $0.socket = nil } }
    show(.idle)
  }

  /// There will be no other connection.
  private func end(_ error: HTTPError, inOrder: Bool) {
    let (waiting, connecting) = content.withLock { content in
      if content.end == nil { (content.end, content.hasEndedInOrder) = (error, inOrder) }
      defer { (content.waiting, content.connecting) = ([], nil) }
      return (content.waiting, content.connecting)
    }
    latest.change { if case .ended = $0 {} else { $0 = .ended(inOrder ? nil : error) } }
    connecting?.cancel()
    for wait in waiting { wait.answer(.failure(error)) }
  }

  private func show(_ state: State) { latest.change { if case .ended = $0 {} else { $0 = state } } }
}

extension ReconnectingWebSocket: AsyncSequence {
  public typealias Element = WebSocket.Message
  public typealias Failure = HTTPError

  /// Returns what receives the messages: see ``receive()``.
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
