@_spi(Toolkit) @_spi(Transports) public import MartletSemantics
import Synchronization

/// A connection that carries the messages of a WebSocket. It hides the difference between transports: if a transport
/// returns a ``DuplexStream``, MartletWebSocket frames the messages itself; otherwise the transport returns its own
/// channel in ``HTTPResponse/messages``. A channel reports to a ``MessageReporter``.
@_spi(Transports) public protocol MessageChannel: AnyObject, Sendable {
  /// Begins to receive. It is called once, when the WebSocket was accepted.
  func start()

  /// Returns the next piece of a message; nil if the WebSocket was closed in order. The peer has to wait while too much
  /// is unread. One task calls it at a time; if that task is cancelled, no piece is lost.
  ///
  /// - Throws: why the WebSocket ended, after the pieces that were received before.
  func receive() async throws(HTTPError) -> MessagePiece?

  /// Waits until earlier messages are sent, and reserves the channel for the pieces of the next one.
  func beginMessage() async throws(HTTPError)

  /// Sends a piece of the message that was begun. It returns when there is room for the next.
  func send(_ piece: MessagePiece) async throws(HTTPError)

  /// Releases the channel for other messages, after the last piece or when the message was abandoned.
  func endMessage()

  /// Sends a ping, and returns the time until its pong.
  func ping() async throws(HTTPError) -> Duration

  /// Closes the WebSocket, and returns when it is closed.
  func close(_ frame: CloseFrame) async

  /// Runs an action when either side has closed the WebSocket; at once if it is already closed.
  func whenClosed(_ action: @escaping @Sendable () -> Void)

  /// Closes the WebSocket because the session shuts down. Messages that have arrived are still delivered.
  func shutDown()

  /// Closes the WebSocket because the peer broke a rule. Nothing more is delivered.
  func fail(_ fault: WebSocketFault, _ error: HTTPError)

  /// Closes the WebSocket without waiting, after its last user has released it.
  func abandon()

  /// How the WebSocket was closed; nil while it is open.
  var closeFrame: CloseFrame? { get }

  /// Why messages can no longer be sent; nil while they can.
  var error: HTTPError? { get }
}

extension MessageChannel {
  /// Why the WebSocket ended; nil if either side closed it in order, and while it is open.
  @_spi(Transports) public var failure: HTTPError? {
    guard let error, error.kind != .shutDown, closeFrame?.isOrderly != true else { return nil }
    return error
  }

  /// Returns when either side has closed the WebSocket.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  @_spi(Transports) public func waitUntilClosed() async throws {
    let closed = OneShot<Void>()
    whenClosed { closed.answer(.success(())) }
    try await closed.wait()
  }
}

/// The actions that run when something is closed, each once: see ``MessageChannel/whenClosed(_:)``.
@_spi(Transports) public final class ClosingActions: Sendable {
  /// nil after it was closed.
  private let actions = Mutex<[@Sendable () -> Void]?>([])

  public init() {}

  /// Adds an action; runs it at once after ``run()``.
  public func add(_ action: @escaping @Sendable () -> Void) {
    let isClosed = actions.withLock { actions in
      actions?.append(action)
      return actions == nil
    }
    if isClosed { action() }
  }

  /// Runs the actions that were added, and makes later ones run at once.
  public func run() {
    let due = actions.withLock { $0.take() }
    for action in due ?? [] { action() }
  }
}

/// A part of a message, or all of it.
@_spi(Transports) public struct MessagePiece: Sendable {
  /// Whether the message is text.
  public var isText: Bool
  /// The bytes. A piece of a text may begin or end within a character.
  public var bytes: Data
  /// Whether it is the first piece of its message.
  public var isFirst: Bool
  /// Whether it is the last one.
  public var isLast: Bool
  /// How many bytes of the message are known to follow.
  public var following = 0

  public init(isText: Bool, _ bytes: Data, isFirst: Bool, isLast: Bool, following: Int = 0) {
    (self.isText, self.bytes, self.isFirst, self.isLast) = (isText, bytes, isFirst, isLast)
    self.following = following
  }
}
