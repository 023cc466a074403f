#if os(Linux)
// Requests that the threads of their callers send: to wake the loop's thread takes longer, and so does waking them again.

extension Network {
  /// Begins an exchange on a thread that has borrowed the loop, if that is short work: no other request is under way, and a
  /// connection is ready on which nothing has happened that the loop does not know yet. Waits a short time for the response
  /// if the server has answered fast before. Returns whether it has begun, and whether the loop's thread has to be woken.
  ///
  /// - Parameter interrupt: a descriptor that becomes readable to end the wait.
  func startOnBorrowedLoop(_ exchange: Exchange, unless interrupt: Int32) -> (hasBegun: Bool, mustWake: Bool) {
    loop.turn {}
    let key = usableKey(exchange.way.key, of: exchange.origin)
    guard transfers.isEmpty, let number = pool.available(for: key, now: loop.now)?.connection,
      let connection = connections[number], let stream = connection.stream, stream.isReading, stream.isQuiet
    else { return (false, loop.mustWake) }
    let waits = connection.lastDuration < options.blockingWait && exchange.bodyLength == 0
    // so that the response does not wake the loop's thread
    if waits { loop.turn { stream.isReading = false } }
    loop.turn {
      start(exchange)
      flush()
    }
    if waits {
      let hasInput = stream.waitForInput(upTo: options.blockingWait, unless: interrupt)
      loop.turn {
        stream.isReading = true
        if hasInput { stream.receiveInput() }
        flush()
      }
    }
    return (true, loop.mustWake)
  }
}
#endif
