@_spi(Toolkit) @_spi(Transports) public import MartletSemantics
import Synchronization

extension Event {
  /// A message of a WebSocket, or the frame that closes it.
  public struct Message: Sendable, Hashable {
    /// What a message is.
    @nonexhaustive public enum Kind: Sendable, Hashable {
      /// Text.
      case text
      /// Bytes.
      case data
      /// Not a message: the WebSocket is closed, with this code (RFC 6455 §7.4), or without one.
      case close(code: Int?)
    }

    /// The direction.
    public var direction: Event.Progress.Direction
    /// What it is.
    public var kind: Kind
    /// Its beginning, up to ``payloadLimit`` bytes: UTF-8, unless the kind is `.data`. For `.close`, the reason. It may
    /// contain secrets.
    public var payload: Data
    /// The number of bytes of the whole message.
    public var count: Int

    /// The maximum number of bytes of ``payload``: 1 MiB.
    public static let payloadLimit = 1 << 20

    /// Makes a message.
    public init(_ direction: Event.Progress.Direction, _ kind: Kind, payload: Data, count: Int) {
      self.direction = direction
      self.kind = kind
      self.payload = payload
      self.count = count
    }
  }
}

extension Event.Message: CustomStringConvertible {
  /// The direction, kind and size of the message, without its content.
  public var description: String {
    switch kind {
    case .text: "\(direction) text of \(count) bytes"
    case .data: "\(direction) data of \(count) bytes"
    case .close(let code): "\(direction) a close frame\(code.map { " with code \($0)" } ?? "")"
    }
  }
}

extension Event.Message {
  /// Adds a piece of the message.
  fileprivate mutating func append(_ bytes: Data) {
    let kept = bytes.prefix(max(0, Self.payloadLimit - payload.count))
    if payload.isEmpty { payload = kept } else { payload.append(kept) }
    count += bytes.count
  }
}

/// Reports the messages of a WebSocket as events of the call that opened it, and ends the call with the WebSocket.
///
/// A channel reports a message when its last piece is sent or has arrived. Messages of both directions may be reported
/// at the same time. A WebSocket that has ended no longer holds the call, whose listeners may hold the WebSocket.
@_spi(Transports) public final class MessageReporter: Sendable {
  /// Where the events go.
  private struct Receivers: Sendable {
    let call: Call
    /// Receives the WebSocket's events in addition to the call's listeners.
    let tap: (@Sendable (Event) -> Void)?
  }

  /// nil once the WebSocket has ended.
  private let receivers: Mutex<Receivers?>
  /// Whether anything listens to the call, at least to its end: reporting runs code of the program.
  public let hasListeners: Bool
  private let isListening: Bool
  /// The messages that have begun.
  private let sent = Mutex<Event.Message?>(nil)
  private let received = Mutex<Event.Message?>(nil)

  public init(_ call: Call) {
    let tap = call.messageTap
    receivers = Mutex(Receivers(call: call, tap: tap))
    hasListeners = tap != nil || !call.events.isEmpty
    isListening = tap != nil || call.events.contains(.message)
  }

  /// A piece of a message is about to be sent.
  public func sent(_ piece: MessagePiece) {
    if isListening { report(piece, .sent, in: sent) }
  }

  /// A piece of a message has arrived.
  public func received(_ piece: MessagePiece) {
    if isListening { report(piece, .received, in: received) }
  }

  private func report(
    _ piece: MessagePiece, _ direction: Event.Progress.Direction, in begun: borrowing Mutex<Event.Message?>
  ) {
    let complete = begun.withLock { begun -> Event.Message? in
      var message = begun.take() ?? Event.Message(direction, piece.isText ? .text : .data, payload: Data(), count: 0)
      message.append(piece.bytes)
      if piece.isLast { return message }
      begun = message
      return nil
    }
    if let complete { emit(.message(complete)) }
  }

  /// One side closes the WebSocket.
  public func closed(_ direction: Event.Progress.Direction, by frame: CloseFrame) {
    guard isListening else { return }
    let reason = Data(frame.reason.utf8)
    emit(
      .message(Event.Message(direction, .close(code: frame.code.map(Int.init)), payload: reason, count: reason.count)))
  }

  /// The WebSocket has ended.
  ///
  /// - Parameter error: why; nil if either side closed it in order.
  public func ended(_ error: HTTPError?) {
    guard let last = receivers.withLock({ $0.take() }) else { return }
    last.tap?(.finished(error))
    last.call.end(error)
  }

  private func emit(_ event: Event) {
    guard let current = receivers.withLock({ $0 }) else { return }
    current.tap?(event)
    current.call.emit(event)
  }
}

extension Call {
  /// Receives the messages and the end of the WebSocket that the call opens. A transport that records its traffic sets
  /// it before the request is sent.
  @_spi(Transports) public var messageTap: (@Sendable (Event) -> Void)? {
    get { self[Self.messageTaps] }
    set { self[Self.messageTaps] = newValue }
  }

  private static let messageTaps = CallLocal<(@Sendable (Event) -> Void)?>(nil)
}
