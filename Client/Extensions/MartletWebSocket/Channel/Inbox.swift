@_spi(Transports) import MartletEngine
@_spi(Toolkit) @_spi(Transports) import MartletSemantics
import Synchronization

/// Assembles messages from the pieces that a channel delivers, for one receiver at a time.
final class Inbox: Sendable {
  fileprivate struct State: Sendable {
    /// The number of the message that was begun last.
    var number = 0
    /// Whether its last piece is still to be received.
    var isWithinMessage = false
    /// The beginning of a message that is received as a whole. It stays if its receiver is cancelled.
    var whole: Whole?
  }

  fileprivate struct Whole: Sendable {
    let isText: Bool
    var bytes: Data
  }

  private let channel: any MessageChannel
  private let limit: Int
  private let receiving = AsyncLock()
  private let state = Mutex(State())

  init(_ channel: any MessageChannel, limit: Int) { (self.channel, self.limit) = (channel, limit) }

  /// Receives a whole message; nil after the last one.
  func message() async throws(HTTPError) -> WebSocket.Message? {
    try await receiving.acquire()
    defer { receiving.release() }
    if state.withLock({ $0.isWithinMessage && $0.whole == nil }), try await !skip() { return nil }
    while let piece = try await receive() {
      let count = state.withLock { $0.whole?.bytes.count ?? 0 } + piece.bytes.count
      guard count <= limit, piece.following <= limit - count else { throw tooBig() }
      if piece.isFirst, piece.isLast { return WebSocket.Message(isText: piece.isText, piece.bytes) }
      if let whole = state.withLock({ $0.add(piece) }) { return WebSocket.Message(isText: whole.isText, whole.bytes) }
    }
    return nil
  }

  /// Receives the beginning of a message, and returns it with the number of the message; nil after the last one.
  func begin() async throws(HTTPError) -> (MessagePiece, number: Int)? {
    try await receiving.acquire()
    defer { receiving.release() }
    if state.withLock({ $0.isWithinMessage && $0.whole == nil }), try await !skip() { return nil }
    // A receiver of whole messages was cancelled in the middle of this message.
    let begun = state.withLock { state in state.whole.take().map { ($0, state.number) } }
    if let (whole, number) = begun {
      return (MessagePiece(isText: whole.isText, whole.bytes, isFirst: true, isLast: false), number)
    }
    guard let piece = try await receive() else { return nil }
    return (piece, state.withLock { $0.number })
  }

  /// Receives the next piece of a message; nil after the last message.
  func piece(of number: Int) async throws(HTTPError) -> MessagePiece? {
    try await receiving.acquire()
    defer { receiving.release() }
    guard state.withLock({ $0.number == number && $0.isWithinMessage && $0.whole == nil }) else {
      throw HTTPError(
        .bodyAlreadyRead, "the message was skipped or read: read it to its end before the next one is received")
    }
    return try await receive()
  }

  /// Skips the rest of a message that was not read to its end. Returns false if there are no more messages.
  private func skip() async throws(HTTPError) -> Bool {
    while state.withLock({ $0.isWithinMessage }) { guard try await receive() != nil else { return false } }
    return true
  }

  private func receive() async throws(HTTPError) -> MessagePiece? {
    guard let piece = try await channel.receive() else { return nil }
    state.withLock { state in
      if piece.isFirst { state.number += 1 }
      state.isWithinMessage = !piece.isLast
    }
    return piece
  }

  private func tooBig() -> HTTPError {
    let error = HTTPError(
      .bodyTooLarge,
      "a message is larger than the limit of \(limit) bytes: raise WebSocket.Options.messageLimit, or use "
        + "receiveStream()", phase: .receiving)
    channel.fail(.tooBig(""), error)
    return channel.error ?? error
  }
}

extension Inbox.State {
  /// Adds a piece to the message that is received as a whole. Returns it if it is complete.
  fileprivate mutating func add(_ piece: MessagePiece) -> Inbox.Whole? {
    var whole = whole.take() ?? Inbox.Whole(isText: piece.isText, bytes: Data())
    whole.bytes.append(piece.bytes)
    if piece.isLast { return whole }
    self.whole = whole
    return nil
  }
}
