#if os(Linux)
import Synchronization

// Work that callers do on their own threads, which saves waking the loop's thread and then the caller's.

extension TransportCore {
  /// Begins an exchange on a thread that has borrowed the loop, if no other request is in progress and a ready
  /// connection has no unread input. Waits briefly for the response if the server has responded fast before. Returns
  /// whether the exchange has begun.
  ///
  /// - Parameter interrupt: a descriptor that becomes readable to end the wait.
  func startOnBorrowedLoop(_ exchange: Exchange, unless interrupt: Int32) -> Bool {
    guard transfers.isEmpty,
      let connection = pool.readyConnection(for: usableKey(exchange.destination.key, of: exchange.origin)),
      connection.socket.isReading, connection.socket.isQuiet
    else { return false }
    let socket = connection.socket
    let waits =
      connection.lastDuration < options.blockingWait && exchange.bodyLength == 0 && loop.now >= nextWait
    if waits { prepareWait(on: socket) }
    connection.isKnownQuiet = true
    start(exchange)
    connection.isKnownQuiet = false
    endTurn()
    if waits { _ = wait(on: socket, unless: interrupt) }
    return true
  }

  /// Sends the output of an upgraded connection on a thread that has borrowed the loop, and waits briefly for the
  /// answer, if the peer has answered fast before. Returns whether it was sent.
  ///
  /// - Parameter interrupt: a descriptor that becomes readable to end the wait.
  func sendOnBorrowedLoop(_ upgrade: Upgrade, unless interrupt: Int32) -> Bool {
    guard loop.now >= nextWait, let carrier = carrier(of: upgrade), let socket = carrier.answeringSocket else {
      return false
    }
    prepareWait(on: socket)
    carrier.send()
    endTurn()
    let wait = wait(on: socket, unless: interrupt) {
      !carrier.hasAnswer || upgrade.missing.load(ordering: .relaxed) > 0
    }
    if wait.isInVain { carrier.noteSilence() }
    if !wait.hasInput { nextWait = loop.now &+ Self.pauseOfWaits }
    return true
  }

  private func prepareWait(on socket: LayeredSocket) {
    socket.isReading = false
    loop.applyChanges()  // so that the response does not wake the loop's thread
    _ = ownership.wasWanted()
  }

  /// Waits briefly for input, and receives it. Returns whether there was any, and whether the last wait ended without.
  ///
  /// - Parameter needsMore: whether to wait for more input; called after the last input was delivered.
  private func wait(
    on socket: LayeredSocket, unless interrupt: Int32, while needsMore: () -> Bool = { false }
  ) -> (hasInput: Bool, isInVain: Bool) {
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
#endif
