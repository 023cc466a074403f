#if os(Linux)
import Synchronization

// Work that callers do on their own threads, which saves waking the loop's thread and then the caller's.

extension TransportCore {
  /// Whether the loop's state is lent while its thread sleeps. With many requests in progress, that thread soon wakes
  /// for a response, and sends several requests in one turn.
  var isLent: Bool { transfers.count <= options.requestsDuringLoan }

  /// Begins an exchange on a thread that has borrowed the loop, if few requests are in progress and a ready connection
  /// has no unread input. If it is the only one, and the server has responded fast before, it waits briefly for the
  /// response. Returns whether the exchange has begun.
  ///
  /// - Parameter interrupt: a descriptor that becomes readable to end the wait.
  func startOnBorrowedLoop(_ exchange: Exchange, unless interrupt: Int32) -> Bool {
    guard isLent,
      let connection = pool.readyConnection(for: usableKey(exchange.destination.key, of: exchange.origin)),
      connection.socket.isReading, connection.socket.isQuiet
    else { return false }
    let socket = connection.socket
    let waits =
      transfers.isEmpty && connection.lastDuration < options.fastAnswer && exchange.bodyLength == 0
      && beginWait(on: socket)
    connection.isKnownQuiet = true
    start(exchange)
    connection.isKnownQuiet = false
    endTurn()
    if waits { _ = wait(on: socket, unless: interrupt) }
    return true
  }

  /// Sends the output of an upgraded connection on a thread that has borrowed the loop, if the peer has answered fast
  /// before. Returns whether it was sent.
  func sendOnBorrowedLoop(_ upgrade: Upgrade) -> Bool {
    guard let carrier = carrier(of: upgrade), carrier.answeringSocket != nil else { return false }
    carrier.send()
    endTurn()
    return true
  }

  /// Waits briefly, on a thread that has borrowed the loop, for the answer to the output of an upgraded connection or
  /// for the rest of an answer, if no request is in progress and the peer has answered fast before. Returns whether it
  /// has waited.
  ///
  /// - Parameter interrupt: a descriptor that becomes readable to end the wait.
  func awaitAnswer(of upgrade: Upgrade, unless interrupt: Int32) -> Bool {
    guard transfers.isEmpty, let carrier = carrier(of: upgrade), let socket = carrier.answeringSocket else {
      return false
    }
    let isMissing = { !carrier.hasAnswer || upgrade.missing.load(ordering: .relaxed) > 0 }
    guard isMissing(), beginWait(on: socket) else { return false }
    let wait = wait(on: socket, unless: interrupt, while: isMissing)
    if wait.isInVain { carrier.noteSilence() }
    if !wait.hasInput { nextWait = loop.now &+ Self.pauseOfWaits }
    return true
  }

  /// Prepares a wait for input, if the calling thread may wait now. ``wait(on:unless:while:)`` has to follow.
  private func beginWait(on socket: LayeredSocket) -> Bool {
    guard loop.now >= nextWait, WaitingThreads.begin(atMost: options.waitingThreads) else { return false }
    socket.isReading = false
    loop.applyChanges()  // so that the response does not wake the loop's thread
    _ = ownership.wasWanted()
    return true
  }

  /// Waits briefly for input, and receives it. Returns whether there was any, and whether the last wait ended without.
  ///
  /// - Parameter needsMore: whether to wait for more input; called after the last input was delivered.
  private func wait(
    on socket: LayeredSocket, unless interrupt: Int32, while needsMore: () -> Bool = { false }
  ) -> (hasInput: Bool, isInVain: Bool) {
    defer { WaitingThreads.end() }
    let end = loop.now &+ options.blockingWait
    var hasInput = false
    while true {
      let isReady = socket.waitForInput(upTo: end &- loop.now, unless: interrupt)
      loop.beginTurn()
      socket.isReading = true
      let isWanted = ownership.wasWanted()
      if isWanted { nextWait = loop.now &+ Self.pauseOfWaits }
      if isReady { socket.receiveInput() }
      flush()
      hasInput = hasInput || isReady
      loop.beginTurn()
      guard isReady, !isWanted, needsMore(), socket.isReading, !loop.mustWake, loop.now < end else {
        loop.applyChanges()
        return (hasInput, !isReady)
      }
      socket.isReading = false  // as before the wait: epoll watches it only after the last part
    }
  }

  private func endTurn() {
    flush()
    loop.applyChanges()
  }

  /// How long, in nanoseconds, no thread waits after another request arrived during a wait, or after an upgraded
  /// connection waited in vain: if several callers send requests, each wait delays another caller.
  private static var pauseOfWaits: UInt64 { 50_000_000 }
}

/// The threads of all transports that wait for input.
private enum WaitingThreads {
  private static let count = Atomic(0)

  /// Counts a thread that is about to wait. Returns false if enough others wait.
  static func begin(atMost limit: Int) -> Bool {
    if count.add(1, ordering: .relaxed).oldValue < limit { return true }
    end()
    return false
  }

  static func end() { count.subtract(1, ordering: .relaxed) }
}
#endif
