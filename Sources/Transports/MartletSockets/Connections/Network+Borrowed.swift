#if os(Linux)
// Requests that the threads of their callers send: to wake the loop's thread takes longer, and so does waking them again.

extension Network {
  /// Begins an exchange on a thread that has borrowed the loop, if that is short work: no other request is under way, and a
  /// connection is ready on which nothing has happened that the loop does not know yet. Waits a short time for the response
  /// if the server has answered fast before. Returns whether it has begun, and whether the loop's thread has to be woken.
  ///
  /// - Parameter interrupt: a descriptor that becomes readable to end the wait.
  func startOnBorrowedLoop(_ exchange: Exchange, unless interrupt: Int32) -> (hasBegun: Bool, mustWake: Bool) {
    loop.beginTurn()
    guard transfers.isEmpty,
      let number = pool.available(for: usableKey(exchange.way.key, of: exchange.origin), now: loop.now)?.connection,
      let connection = connections[number], let stream = connection.stream, stream.isReading, stream.isQuiet
    else { return (false, loop.mustWake) }
    let waits =
      connection.lastDuration < options.blockingWait && exchange.bodyLength == 0 && loop.now >= nextWait
    if waits {
      stream.isReading = false
      loop.applyChanges()  // so that the response does not wake the loop's thread
      _ = loan.wasWanted()
    }
    connection.isKnownQuiet = true
    start(exchange)
    connection.isKnownQuiet = false
    flush()
    loop.applyChanges()
    if waits {
      let hasInput = stream.waitForInput(upTo: options.blockingWait, unless: interrupt)
      loop.beginTurn()
      stream.isReading = true
      if loan.wasWanted() { nextWait = loop.now &+ Self.pauseOfWaits }
      if hasInput { stream.receiveInput() }
      flush()
      loop.applyChanges()
    }
    return (true, loop.mustWake)
  }

  /// For how long no thread waits after another request was made during a wait: where several callers send requests, each wait
  /// costs another one's time.
  private static var pauseOfWaits: UInt64 { 50_000_000 }
}
#endif
