#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

// The request's side of a transfer: what a connection sends of it, and how it is sent again.

/// How much of a request's body was sent.
struct UploadProgress {
  /// How many bytes were taken from the body's source.
  var taken: Int64 = 0
  var sent: Int64 = 0
  /// How many of the sent bytes were reported to the call's listeners.
  var reported: Int64 = 0
  /// Whether the body's source was stopped, so that the request cannot be sent again.
  var isStopped = false
}

/// A chunk that is being sent: of a request's body, or of the output of an upgraded connection.
struct UploadChunk {
  private(set) var bytes = Data()
  private var offset = 0

  init() {}

  init(_ bytes: Data) { self.bytes = bytes }

  var isSent: Bool { offset == bytes.count }

  /// Copies unsent bytes, which then count as sent. Returns how many.
  mutating func copy(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, bytes.count - offset)
    guard count > 0 else { return 0 }
    let start = bytes.startIndex + offset
    bytes.copyBytes(to: room, from: start..<(start + count))
    offset += count
    return count
  }

  /// Passes the unsent bytes to the closure.
  func withUnsentBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
  }

  mutating func markSent(_ count: Int) { offset += count }
}

/// The connections that could not serve a request.
struct ConnectionFailures {
  /// Why a request gets another connection.
  enum Cause {
    /// Its reused connection ended before any byte of a response.
    case stale
    /// Its connection sent none of it, or the server has said that it did not process it.
    case unsent
    /// Its connection had ended before use, or had received unrequested bytes. That does not count as a failure: each
    /// such connection is closed, so it happens a limited number of times.
    case unusable
  }

  /// How many times the request was sent over a connection that turned out to be stale.
  private(set) var stale = 0
  /// How many times its connection sent none of it, or the server did not process it.
  private(set) var unsent = 0

  var isEmpty: Bool { stale + unsent == 0 }
  /// Whether the request needs a connection that has not served before (RFC 9112 §9.3.1).
  var requireNewConnection: Bool { stale > 0 }

  mutating func add(_ cause: Cause) {
    switch cause {
    case .stale: stale += 1
    case .unsent: unsent += 1
    case .unusable: break
    }
  }
}

extension Transfer {
  /// Returns the next part of the request's body and counts its bytes as taken.
  func nextChunk() -> UploadQueue.Next {
    if holdsBody { return .nothingYet }
    switch exchange.upload {
    case .none: return .end(trailers: [:])
    case .bytes(let data):
      guard uploaded.taken == 0 else { return .end(trailers: [:]) }
      uploaded.taken = Int64(data.count)
      return .chunk(data)
    case .queue(let queue):
      let next = queue.next()
      if case .chunk(let data) = next { uploaded.taken += Int64(data.count) }
      return next
    }
  }

  /// Copies unsent bytes of ``chunk``. Returns how many.
  func copyChunk(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = chunk.copy(into: room)
    if count > 0 { noteSent(count) }
    return count
  }

  /// Whether all bytes of a body of known length were taken from their source, even if the source has not reported its
  /// end. False if trailers follow.
  var hasTakenBody: Bool { exchange.bodyLength == uploaded.taken && !exchange.request.body.hasTrailers }

  /// Whether all of these bytes were also sent.
  var hasSentBody: Bool { hasTakenBody && chunk.isSent }

  /// Notes that bytes of the request's body were sent.
  func noteSent(_ count: Int) {
    uploaded.sent += Int64(count)
    lastActivity = network.loop.now
    if exchange.settings.events.contains(.progress) { markDirty() }
  }

  /// Stops the request's body: the server does not need it.
  func stopUpload() {
    chunk = UploadChunk()
    guard case .queue(let queue) = exchange.upload else { return }
    queue.close()
    uploaded.isStopped = true
  }

  /// Whether the request can still be sent from its beginning.
  var canBeginAgain: Bool {
    if case .queue = exchange.upload { uploaded.taken == 0 && !uploaded.isStopped } else { true }
  }

  /// Whether the request may move to another connection after it was not sent or not processed on this one.
  var mayGoElsewhere: Bool { canBeginAgain && failures.unsent < Self.unsentLimit }

  /// Whether it may also be sent again after the server has reported that it did not process the request.
  var mayBeReplaced: Bool { exchange.request.options.retryPolicy.replacesStaleConnections && mayGoElsewhere }

  private static let unsentLimit = 5

  /// Asks the reading task to do something before the request continues.
  ///
  /// - Parameter isLast: whether the request ends with it.
  func ask(_ question: @escaping @Sendable (Call) async throws -> Void, isLast: Bool) {
    isAsking = true
    add(.ask(question).measured(isLast ? metrics : nil))
  }

  /// Continues the wait after the caller's check has accepted the server.
  ///
  /// - Parameter answered: whether this transfer's ``ask(_:isLast:)`` was answered.
  func resumeWait(answered: Bool) {
    if answered { isAsking = false }
    guard !isEnded else { return }
    lastActivity = network.loop.now
    watchSilence()
  }

  /// Sends a note to the listeners of the call.
  func note(_ text: String) {
    if exchange.settings.events.contains(.note) { add(.note(text)) }
  }
}
#endif
