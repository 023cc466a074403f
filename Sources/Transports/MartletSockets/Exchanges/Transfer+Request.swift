#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

// The request's side of a transfer: what a connection sends of it, and how it is sent again.

extension Transfer {
  /// Returns the next part of the request's body and stores its bytes in ``chunk``.
  func nextChunk() -> UploadQueue.Next {
    switch exchange.upload {
    case .none: return .end(trailers: [:])
    case .bytes(let data):
      guard taken == 0 else { return .end(trailers: [:]) }
      taken = Int64(data.count)
      return .chunk(data)
    case .queue(let queue):
      let next = queue.next()
      if case .chunk(let data) = next { taken += Int64(data.count) }
      return next
    }
  }

  /// Copies unsent bytes of ``chunk``. Returns how many.
  func copyChunk(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, chunk.count - chunkOffset)
    guard count > 0 else { return 0 }
    let start = chunk.startIndex + chunkOffset
    chunk.copyBytes(to: room, from: start..<(start + count))
    chunkOffset += count
    noteSent(count)
    return count
  }

  /// Whether all bytes of a body of known length were taken from their source, even if the source has not reported its
  /// end. False if trailers follow.
  var hasTakenBody: Bool { exchange.bodyLength == taken && !exchange.request.body.hasTrailers }

  /// Whether they were also sent.
  var hasSentBody: Bool { hasTakenBody && chunkOffset == chunk.count }

  /// Notes that bytes of the request's body were sent.
  func noteSent(_ count: Int) {
    sent += Int64(count)
    lastActivity = network.loop.now
    if exchange.limits.events.contains(.progress) { markDirty() }
  }

  /// Stops the request's body: the server does not need it.
  func stopUpload() {
    chunk = Data()
    chunkOffset = 0
    guard case .queue(let queue) = exchange.upload else { return }
    queue.close()
    hasClosedQueue = true
  }

  /// Whether the request can still be sent from its beginning.
  var canBeginAgain: Bool {
    if case .queue = exchange.upload { taken == 0 && !hasClosedQueue } else { true }
  }

  /// Whether it may get another connection because this one did nothing for it.
  var mayGoElsewhere: Bool { canBeginAgain && unsentCount < Self.mostUnsent }

  /// Whether it may also be sent again after the server has reported that it did not process the request.
  var mayBeReplaced: Bool { exchange.request.options.retryPolicy.replacesStaleConnections && mayGoElsewhere }

  private static let mostUnsent = 5

  /// Prepares for another connection; nothing of a response was received.
  func beginAgain(isStale: Bool) {
    connection = nil
    stream = nil
    phase = .resolving
    timing = TransferTiming(start: timing.start)
    if isStale { staleCount += 1 } else { unsentCount += 1 }
    chunk = Data()
    chunkOffset = 0
    taken = 0
    sent = 0
  }

  /// Asks the reading task to do something before the request continues.
  ///
  /// - Parameter isLast: whether the request ends with it.
  func ask(_ question: @escaping @Sendable (Call) async throws -> Void, isLast: Bool) {
    isAsking = true
    add(.ask(question).measured(isLast ? metrics : nil))
  }

  /// Ends the wait: the response has started, or ``ask(_:)`` was answered.
  ///
  /// - Parameter answered: whether it was the answer to ``ask(_:)``.
  func resumeWait(answered: Bool) {
    if answered { isAsking = false }
    guard !isEnded else { return }
    lastActivity = network.loop.now
    watchSilence()
  }

  /// Sends a note to the listeners of the call.
  func tell(_ note: String) {
    if exchange.limits.events.contains(.note) { add(.note(note)) }
  }
}
#endif
