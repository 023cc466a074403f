@_spi(Transports) public import MartletEngine
@_spi(Toolkit) @_spi(Transports) public import MartletSemantics

extension WebSocket {
  /// The type of a message.
  public enum MessageType: Sendable, Hashable {
    /// UTF-8.
    case string
    /// Bytes.
    case data
  }

  /// Sends a message in pieces, as the sequence produces them, so that the whole message need not be in memory. The
  /// next piece is requested when there is room for it. Other messages wait until this one is sent; pings do not. Runs
  /// off the caller's actor.
  ///
  /// ```swift
  /// try await socket.send(.data, from: response.body)
  /// ```
  ///
  /// - Parameters:
  ///   - type: the type. The pieces of a `.string` must be valid UTF-8 when joined; only the server checks that.
  ///   - pieces: the bytes.
  /// - Throws: ``Martlet/HTTPError``, as ``send(_:)``. An error of the sequence is in its `underlying`, and closes the
  ///   WebSocket, because a message that has begun cannot be abandoned.
  @concurrent public func send<Pieces: AsyncSequence & Sendable>(
    _ type: MessageType, from pieces: Pieces
  ) async throws(HTTPError) where Pieces.Element == Data {
    try await channel.beginMessage()
    defer { channel.endMessage() }
    var isFirst = true
    do {
      for try await bytes in pieces where !bytes.isEmpty {
        try await channel.send(MessagePiece(isText: type == .string, bytes, isFirst: isFirst, isLast: false))
        isFirst = false
      }
      try await channel.send(MessagePiece(isText: type == .string, Data(), isFirst: isFirst, isLast: true))
    } catch {
      let cause = HTTPError(wrapping: error)
      channel.fail(WebSocketFault(1001, ""), channel.error ?? cause)
      throw cause
    }
  }

  /// Receives the next message in pieces, as they arrive. Returns when the message begins. While the pieces are not
  /// read, the server has to wait. The size of the message has no limit. Runs off the caller's actor.
  ///
  /// ```swift
  /// let message = try await socket.receiveStream()
  /// for try await bytes in message { print(bytes.count) }
  /// ```
  ///
  /// - Throws: ``Martlet/HTTPError``, as ``receive()``; the message throws errors that occur while it is read.
  @concurrent public func receiveStream() async throws(HTTPError) -> MessageStream {
    guard let (first, number) = try await inbox.begin() else { throw ended }
    return MessageStream(type: first.isText ? .string : .data, socket: self, first: first, number: number)
  }

  /// The bytes of a message, as they arrive; iterate over them once. The next receive skips the rest of a message that
  /// was not read to its end.
  public struct MessageStream: AsyncSequence, Sendable {
    public typealias Element = Data
    public typealias Failure = HTTPError

    /// The type of the message. The pieces of a `.string` are valid UTF-8 when joined; a single piece may end in the
    /// middle of a character.
    public let type: MessageType
    fileprivate let socket: WebSocket
    fileprivate let first: MessagePiece
    fileprivate let number: Int

    fileprivate init(type: MessageType, socket: WebSocket, first: MessagePiece, number: Int) {
      (self.type, self.socket, self.first, self.number) = (type, socket, first, number)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(message: self, next: first) }

    /// Reads the pieces.
    public struct Iterator: AsyncIteratorProtocol {
      fileprivate let message: MessageStream
      /// The piece that was received with the beginning of the message.
      fileprivate var next: MessagePiece?
      private var isAtEnd = false

      fileprivate init(message: MessageStream, next: MessagePiece) { (self.message, self.next) = (message, next) }

      public mutating func next(isolation actor: isolated (any Actor)?) async throws(HTTPError) -> Data? {
        while !isAtEnd {
          let piece: MessagePiece
          if let first = next.take() {
            piece = first
          } else {
            guard let next = try await message.socket.inbox.piece(of: message.number) else {
              throw message.socket.ended
            }
            piece = next
          }
          isAtEnd = piece.isLast
          if !piece.bytes.isEmpty { return piece.bytes }
        }
        return nil
      }

      public mutating func next() async throws(HTTPError) -> Data? { try await next(isolation: nil) }
    }
  }
}
