import MartletSemantics

/// The bytes between the server and a client, in both directions: those of a connection, over TCP or TLS, or of a
/// stream of HTTP/2. One thread uses it, which blocks.
protocol ServerStream {
  /// Blocks until there are bytes to receive, or the end; false if there are none in time.
  func waitForBytes(until deadline: ContinuousClock.Instant) -> Bool

  /// Receives the available bytes, and blocks until there are any; 0 at the end. A reset counts as an end.
  func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int

  /// Sends all bytes, and blocks while the peer does not read.
  func send(_ bytes: UnsafeRawBufferPointer) throws(WireError)

  /// Blocks until the gate opens; without a gate until it throws.
  ///
  /// - Throws: ``WireError/peerGone`` when the peer closes the connection or the server is stopped.
  func wait(for gate: Gate?) throws(WireError)

  /// Blocks for this time.
  ///
  /// - Throws: ``WireError/peerGone`` when the peer closes the connection or the server is stopped.
  func pause(for duration: Duration) throws(WireError)

  /// Announces that nothing more is sent, if the protocol has a way to do that.
  func finish()

  /// Ends the sending side, and waits for the peer to do the same. Closing with unread bytes would reset the
  /// connection, and the peer might lose the last bytes that were sent (RFC 9112 §9.6).
  func closeGently()
}

extension ServerStream {
  func send(_ data: Data) throws(WireError) {
    // `withUnsafeBytes` does not support typed throws.
    let failure: WireError? = data.withUnsafeBytes { bytes in
      do throws(WireError) { try send(bytes) } catch { return error }
      return nil
    }
    if let failure { throw failure }
  }
}

/// The body of a request that is being received.
protocol ReceivedBody: AnyObject {
  /// Returns the next bytes; nil at the end.
  func next() throws(WireError) -> Data?
  /// The trailer fields; complete at the end.
  var trailers: HTTPFields { get }
}
