#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

// The request's side of a transfer: what a connection sends of it, and how it is sent again.

/// The connections that could not serve a request.
struct ConnectionFailures {
  /// Why a request gets another connection.
  enum Cause {
    /// Its reused connection ended before any byte of a response.
    case stale
    /// Its connection sent none of it.
    case unsent
    /// The server has said that it did not process it.
    case refused
    /// Its connection had ended before use, or had received unrequested bytes. That does not count as a failure: each
    /// such connection is closed, so it happens a limited number of times.
    case unusable
  }

  /// How many times the request was sent over a connection that turned out to be stale.
  private(set) var stale = 0
  /// How many times its connection sent none of it.
  private(set) var unsent = 0
  /// How many times the server did not process it.
  private(set) var refused = 0

  var count: Int { stale + unsent + refused }
  /// Whether the request needs a connection that has not served before (RFC 9112 §9.3.1).
  var requireNewConnection: Bool { stale > 0 }

  mutating func add(_ cause: Cause) {
    switch cause {
    case .stale: stale += 1
    case .unsent: unsent += 1
    case .refused: refused += 1
    case .unusable: break
    }
  }
}

extension Transfer {
  /// Returns the next part of the request's body; nothing yet while it is held.
  func nextChunk() -> UploadQueue.Next { holdsBody ? .nothingYet : upload.next() }

  /// Notes that bytes of the request's body were sent.
  func noteSent(_ count: Int) {
    upload.sent += Int64(count)
    lastActivity = transport.loop.now
    if exchange.settings.events.contains(.progress) { markDirty() }
  }

  /// Whether the request may move to another connection after it was not sent on this one.
  var mayGoElsewhere: Bool { upload.canBeginAgain && failures.unsent < Self.unsentLimit }

  /// Whether it is also sent again at once after the server has reported that it did not process the request. That
  /// happens once in a call: a server that refuses again gets the request after a pause, for which the loop has the
  /// rules.
  var mayBeReplaced: Bool {
    exchange.settings.isFirstAttempt && failures.refused == 0 && mayGoElsewhere
      && exchange.request.options.retryPolicy.replacesStaleConnections
  }

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
    lastActivity = transport.loop.now
    watchSilence()
  }

  /// Sends a note to the listeners of the call.
  func note(_ text: String) {
    if exchange.settings.events.contains(.note) { add(.note(text)) }
  }
}
#endif
