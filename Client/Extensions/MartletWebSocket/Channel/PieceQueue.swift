@_spi(Toolkit) @_spi(Transports) public import MartletEngine
import MartletSemantics
import Synchronization

/// The received pieces that are not read yet, between the connection's reader and the task that receives messages. Its
/// size is limited, so that a fast peer waits for a slow receiver.
///
/// Continuations are unsafe ones, as in ``MartletEngine/SignalQueue``: each is taken out of the state under the lock.
@_spi(Toolkit) public final class PieceQueue: Sendable {
  fileprivate struct State: Sendable {
    let highWater: Int
    var pieces = HeadQueue<MessagePiece>()
    /// The unread bytes, and a little for each piece.
    var size = 0
    /// How the pieces end: in order, or with an error.
    var end: Result<Void, HTTPError>?
    /// The task that receives, and the number of its wait.
    var receiver: (wait: Int, continuation: UnsafeContinuation<MessagePiece?, any Error>)?
    var lastWait = 0
    /// The task that reads the connection, while the queue is full.
    var reader: UnsafeContinuation<Void, Never>?
    /// The task that waits until everything was received.
    var finisher: UnsafeContinuation<Void, Never>?

    init(highWater: Int) { self.highWater = highWater }
  }

  private let state: Mutex<State>

  /// - Parameter highWater: the number of unread bytes at which the peer has to wait.
  public init(highWater: Int = 32 << 10) { state = Mutex(State(highWater: highWater)) }

  fileprivate static func size(of piece: MessagePiece) -> Int { piece.bytes.count + 64 }

  /// Whether the peer has to wait.
  var isFull: Bool { state.withLock { $0.reader != nil } }

  /// Whether a receiver has to wait.
  var isEmpty: Bool { state.withLock { $0.pieces.isEmpty && $0.end == nil } }

  /// Adds a piece, and waits while there are too many. Returns false if the queue has ended: pieces are not wanted.
  @discardableResult @_spi(Toolkit) public func push(_ piece: MessagePiece) async -> Bool {
    if let isWanted = add(piece) { return isWanted }
    return await room()
  }

  /// Adds a piece. Returns false if the queue has ended: pieces are not wanted; nil if it was full already, so that the
  /// next piece has to wait for ``room()``. After the piece that fills the queue, no wait is needed yet, because a
  /// receiver often takes it at once.
  func add(_ piece: MessagePiece) -> Bool? {
    typealias Receiver = UnsafeContinuation<MessagePiece?, any Error>
    let (receiver, isWanted) = state.withLock { state -> (Receiver?, Bool?) in
      guard state.end == nil else { return (nil, false) }
      if let receiver = state.receiver.take() { return (receiver.continuation, true) }
      let wasFull = state.size >= state.highWater
      state.pieces.append(piece)
      state.size += Self.size(of: piece)
      return (nil, wasFull ? nil : true)
    }
    receiver?.resume(returning: piece)
    return isWanted
  }

  /// Waits while there are too many pieces. Returns false if the queue has ended.
  func room() async -> Bool {
    await withUnsafeContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.end != nil || state.size < state.highWater { return true }
        state.reader = continuation
        return false
      }
      if goesOn { continuation.resume() }
    }
    return state.withLock { $0.end == nil }
  }

  /// Returns the next piece; nil after the last one. If the task is cancelled, no piece is lost.
  public func next() async throws(HTTPError) -> MessagePiece? {
    if let ready = take() { return try ready.get() }
    let wait = state.withLock { state in
      state.lastWait += 1
      return state.lastWait
    }
    do {
      return try await withTaskCancellationHandler {
        try await withUnsafeThrowingContinuation { continuation in
          // Under the lock: a cancellation before it is seen here, and one after it finds the receiver.
          let (isCancelled, taken) = state.withLock { state -> (Bool, State.Taken?) in
            if Task.isCancelled { return (true, nil) }
            let taken = state.take()
            if taken == nil { state.receiver = (wait, continuation) }
            return (false, taken)
          }
          if isCancelled { return continuation.resume(throwing: CancellationError()) }
          guard let taken else { return endWaitForReceiver() }
          taken.reader?.resume()
          continuation.resume(with: taken.result.mapError { $0 })
        }
      } onCancel: {
        cancel(wait)
      }
    } catch { throw HTTPError(wrapping: error) }
  }

  private func cancel(_ wait: Int) {
    let receiver = state.withLock { state in state.receiver?.wait == wait ? state.receiver.take() : nil }
    receiver?.continuation.resume(throwing: CancellationError())
  }

  /// Returns the next piece, or nil within the result after the last one; nil if there is none yet.
  private func take() -> Result<MessagePiece?, HTTPError>? {
    let taken = state.withLock { $0.take() }
    taken?.reader?.resume()
    return taken?.result
  }

  /// Waits until every piece was received and the receiver waits for the next one, or until the end, but no longer than
  /// the given time.
  func waitUntilReceived(within time: Duration, on clock: any Clock<Duration>) async {
    var alarm: Alarm?
    await withUnsafeContinuation { continuation in
      let goesOn = state.withLock { state in
        if state.end != nil || state.receiver != nil { return true }
        state.finisher = continuation
        return false
      }
      if goesOn { return continuation.resume() }
      // Not before: an alarm that is due at once would find nothing to end.
      alarm = Alarm(after: time, on: clock) { [weak self] in self?.endWaitForReceiver() }
    }
    alarm?.cancel()
  }

  private func endWaitForReceiver() { state.withLock { $0.finisher.take() }?.resume() }

  /// Ends the queue: pieces that were received before are still delivered. The first end counts.
  public func finish(_ end: Result<Void, HTTPError>) { self.end(end, discards: false) }

  /// Ends the queue and drops unread pieces: a receiver gets the error at once.
  public func discard(_ end: Result<Void, HTTPError>) { self.end(end, discards: true) }

  private func end(_ end: Result<Void, HTTPError>, discards: Bool) {
    let (receiver, reader) = state.withLock { state in
      if state.end == nil || discards { state.end = end }
      if discards {
        state.pieces.removeAll()
        state.size = 0
      }
      return (state.receiver.take(), state.reader.take())
    }
    receiver?.continuation.resume(with: end.map { nil }.mapError { $0 })
    reader?.resume()
    endWaitForReceiver()
  }
}

extension PieceQueue.State {
  /// The next piece, or nil after the last one; and the task that reads the connection, to be resumed if it may go on.
  fileprivate struct Taken {
    let result: Result<MessagePiece?, HTTPError>
    let reader: UnsafeContinuation<Void, Never>?
  }

  /// Takes the next piece; nil if there is none yet.
  fileprivate mutating func take() -> Taken? {
    guard let piece = pieces.popFirst() else { return end.map { Taken(result: $0.map { nil }, reader: nil) } }
    size -= PieceQueue.size(of: piece)
    return Taken(result: .success(piece), reader: size <= highWater / 4 ? reader.take() : nil)
  }
}
