#if os(Linux)
@_spi(Transports) import MartletEngine
import MartletSemantics

// The request's side of a transfer: which parts a connection sends, and how the request is sent again.

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
    /// It is for a WebSocket, and its connection has as many of them as it may. That is no failure either.
    case crowded
  }

  /// How many times the request was sent over a connection that turned out to be stale.
  private(set) var stale = 0
  /// How many times its connection sent none of it.
  private(set) var unsent = 0
  /// How many times the server did not process it.
  private(set) var refused = 0

  /// Whether a WebSocket needs a connection of its own.
  private(set) var isCrowdedOut = false
  /// Whether the connection of the call's last attempt was the wrong one for its origin.
  private let wasMisdirected: Bool

  init(wasMisdirected: Bool) { self.wasMisdirected = wasMisdirected }

  var count: Int { stale + unsent + refused }
  /// Whether the request needs a connection that has not served before (RFC 9112 §9.3.1, RFC 9110 §15.5.20).
  var requireNewConnection: Bool { stale > 0 || wasMisdirected }

  mutating func add(_ cause: Cause) {
    switch cause {
    case .stale: stale += 1
    case .unsent: unsent += 1
    case .refused: refused += 1
    case .unusable: break
    case .crowded: isCrowdedOut = true
    }
  }
}

extension LoopTransfer {
  /// Takes the next part of the request's body; nothing yet while it is held.
  func nextChunk() -> UploadQueue.Next {
    guard !holdsBody else { return .nothingYet }
    let next = exchange.nextPart(after: upload.taken)
    if case .chunk(let data) = next { upload.taken += Int64(data.count) }
    return next
  }

  /// Whether all bytes of a body of known length were taken from their source, even if the source has not reported its
  /// end. False if trailers follow.
  var hasTakenBody: Bool { exchange.bodyLength == upload.taken && !exchange.message.request.body.hasTrailers }

  /// Stops the source of the body: the server does not need it.
  func stopUpload() {
    guard let source = exchange.upload else { return }
    source.close()
    upload.isStopped = true
  }

  /// Whether the body can still be sent from its beginning.
  var canBeginAgain: Bool { exchange.upload == nil || upload.taken == 0 && !upload.isStopped }

  /// Notes that bytes of the request's body were sent.
  func noteSent(_ count: Int) {
    upload.sent += Int64(count)
    lastActivity = transport.loop.now
    if exchange.settings.events.contains(.progress) { markDirty() }
  }

  /// Whether the request may move to another connection after it was not sent on this one.
  var mayGoElsewhere: Bool { canBeginAgain && failures.unsent < Self.unsentLimit }

  /// Whether the request is also sent again at once after the server has reported that it did not process it. That
  /// happens once in a call: if the server refuses again, the retry rules of the call decide on the pause before the
  /// next attempt.
  var mayBeReplaced: Bool {
    exchange.settings.isFirstAttempt && failures.refused == 0 && mayGoElsewhere
      && exchange.message.request.options.retryPolicy.replacesStaleConnections
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

  /// The status of a server that does not serve the origin of a request.
  static var misdirected: Int { 421 }

  /// Handles a response that says that the connection does not serve the origin (421). It gets no further requests.
  ///
  /// A new connection would not help if it were opened to the same proxy, if the request named another host than the
  /// one that is connected to, or if this one was opened for that purpose.
  func receiveMisdirection() {
    guard let connection, case .origin = key.end, exchange.upgrade == nil, !connection.replacesWrongOne,
      exchange.message.request.options.retryPolicy.replacesStaleConnections,
      exchange.message.request.fields[.host].map({ $0 == exchange.peer }) ?? true
    else { return }
    transport.pool.drain(connection)
    add(.misdirected)
  }

  /// Sends a note to the listeners of the call.
  func note(_ text: String) {
    if exchange.settings.events.contains(.note) { add(.note(text)) }
  }
}
#endif
