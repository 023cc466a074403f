@_spi(Transports) public import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics

/// A connection that carries messages in both directions (RFC 6455). ``Martlet/HTTPSession`` opens it:
///
/// ```swift
/// let socket = try await session.webSocket(for: HTTPRequest(.get, "wss://chat.example.com/room"), protocols: ["chat"])
/// try await socket.send(.string("hello"))
/// for try await message in socket { print(message) }
/// ```
///
/// Any number of tasks may send and receive. Messages are sent one after another, and each message that arrives goes to
/// one receiver. The server's pings are answered automatically, and a silent connection is tested with pings
/// (``Options/pingInterval``).
///
/// Messages that arrive are kept until the program receives them. Once 1 MiB is waiting (less with a smaller
/// ``Options/messageLimit``), nothing more is read: the server has to wait, and its pings are not answered, for which
/// many servers close the connection. A program that only sends therefore receives in a task of its own:
/// `Task { for try await _ in socket {} }`.
///
/// A send returns when there is room for more, not when the server has the message. Cancelling a task that receives
/// loses nothing. Cancelling a task that sends closes the connection, because part of the message may have been sent.
///
/// Close a WebSocket with ``close(_:reason:)``. When the last reference to it is released, it is closed with
/// ``CloseCode/goingAway``.
public final class WebSocket: Sendable {
  /// The response that opened the WebSocket: its status is 101, or 200 over HTTP/2.
  public let response: HTTPResponse
  /// The subprotocol that the server chose from the offered ones; nil if it chose none.
  public let negotiatedProtocol: String?
  /// The maximum number of bytes of a message that is received as a whole: ``Options/messageLimit``.
  public let messageLimit: Int
  let channel: any MessageChannel
  let inbox: Inbox

  init(_ channel: any MessageChannel, response: HTTPResponse, negotiatedProtocol: String?, messageLimit: Int) {
    self.channel = channel
    self.response = response
    self.negotiatedProtocol = negotiatedProtocol
    self.messageLimit = messageLimit
    inbox = Inbox(channel, limit: messageLimit)
  }

  deinit { channel.abandon() }

  // MARK: - Messages

  /// Sends a message. Runs off the caller's actor.
  ///
  /// - Throws: ``Martlet/HTTPError``: of kind `.connectionLost` if the server closed the WebSocket or the
  ///   connection was lost, `.shutDown` after ``close(_:reason:)``, `.cancelled` if the task was cancelled.
  @concurrent public func send(_ message: Message) async throws(HTTPError) {
    try await channel.beginMessage()
    defer { channel.endMessage() }
    try await channel.send(message.piece)
  }

  /// Receives the next message; waits until there is one. Runs off the caller's actor.
  ///
  /// - Throws: ``Martlet/HTTPError``: of kind `.connectionLost` after the last message, even if the server closed
  ///   the WebSocket in order; `.bodyTooLarge` if a message is larger than ``messageLimit``, and
  ///   `.protocolViolation` if the server violates the protocol, which both close the WebSocket; `.shutDown` after
  ///   ``close(_:reason:)``, `.cancelled` if the task was cancelled.
  @concurrent public func receive() async throws(HTTPError) -> Message {
    guard let message = try await inbox.message() else { throw ended }
    return message
  }

  /// Sends a ping (RFC 6455 §5.5.2), and returns the time until the server answered it. Pings and pongs are never
  /// delivered as messages. Runs off the caller's actor.
  ///
  /// - Throws: ``Martlet/HTTPError``, as ``send(_:)``; of kind `.idleTimeout` if the answer has not arrived after
  ///   ``Options/pongTimeout``. The WebSocket stays open in that case.
  @concurrent @discardableResult public func sendPing() async throws(HTTPError) -> Duration {
    try await channel.ping()
  }

  var ended: HTTPError { channel.error ?? HTTPError(.connectionLost, "the WebSocket is closed") }

  // MARK: - The end

  /// Closes the WebSocket with a code and a reason for the server. Returns when the server has closed the connection,
  /// at the latest after ``Options/closeTimeout``, or ``Options/dropTimeout`` after it has answered. Messages that were
  /// not received yet are dropped. Closing a closed WebSocket does nothing. If the task is cancelled, the connection is
  /// closed at once. Runs off the caller's actor.
  ///
  /// - Parameters:
  ///   - code: why; ``CloseCode/normalClosure`` by default. ``CloseCode/noStatusReceived`` sends no code. A code that
  ///     must not be sent (RFC 6455 §7.4) is replaced by ``CloseCode/normalClosure``.
  ///   - reason: a text for the server's logs; none by default. Only its first 123 bytes are sent.
  @concurrent public func close(_ code: CloseCode = .normalClosure, reason: String = "") async {
    let isSendable = CloseFrame.maySend(code.rawValue)
    let sent = code == .noStatusReceived ? nil : isSendable ? code.rawValue : CloseCode.normalClosure.rawValue
    await channel.close(CloseFrame(code: sent, reason: reason))
  }

  /// Waits until the WebSocket has ended: this program or the server has closed it, or the connection was lost. Returns
  /// at once if it has. The wait has no limit.
  ///
  /// ```swift
  /// try await socket.waitUntilClosed()
  /// print(socket.closeReason ?? "closed without a reason")
  /// ```
  ///
  /// It receives no messages. While too many wait, the end of the WebSocket waits behind them: see ``WebSocket``. If
  /// the task is cancelled, the WebSocket is closed with ``CloseCode/goingAway``.
  ///
  /// - Throws: ``Martlet/HTTPError``, the reason why it ended, unless either side has closed it in order;
  ///   `CancellationError` if the task is cancelled.
  public func waitUntilClosed() async throws {
    do { try await channel.waitUntilClosed() } catch {
      channel.abandon()
      throw error
    }
    if let error = channel.failure { throw error }
  }

  /// The code with which the server closed the WebSocket, ``CloseCode/noStatusReceived`` if it sent none, and
  /// ``CloseCode/abnormalClosure`` if the connection ended without it. nil while the WebSocket is open.
  public var closeCode: CloseCode? { channel.closeFrame.map(CloseCode.init(of:)) }

  /// The reason that the server gave for closing; nil while the WebSocket is open, and if there is none.
  public var closeReason: String? {
    guard let reason = channel.closeFrame?.reason, !reason.isEmpty else { return nil }
    return reason
  }
}

extension WebSocket: AsyncSequence {
  public typealias Element = Message
  public typealias Failure = HTTPError

  /// Returns an iterator over the messages. They end when this program closes the WebSocket, or when the server closes
  /// it with ``CloseCode/normalClosure``, ``CloseCode/goingAway`` or no code. Any other end is an error, as for
  /// ``receive()``.
  public func makeAsyncIterator() -> Iterator { Iterator(socket: self) }

  /// Receives messages.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let socket: WebSocket

    public mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> Message? {
      try await socket.inbox.message()
    }

    public mutating func next() async throws(HTTPError) -> Message? { try await next(isolation: nil) }
  }
}
