package import MartletSemantics

/// Both directions of a connection that is not used for HTTP any more, as bytes: the server has switched to the protocol
/// that the request's `Upgrade` asked for (101, RFC 9110 §7.8), or a proxy has opened a tunnel (a 2xx to CONNECT, §9.3.6).
///
/// One task may read while another one writes. A task that is cancelled while it reads or writes closes the stream, and
/// so does the release of its last reference. None of the request's timeouts applies.
package protocol DuplexStream: Sendable {
  /// Returns the next bytes, of which there is at least one; nil after the peer has ended its direction. While nobody
  /// reads, the peer has to wait.
  ///
  /// - Throws: ``HTTPError`` of kind `connectionLost`, also if TLS ends without `close_notify`; `CancellationError` after
  ///   ``close()``.
  func read() async throws -> Data?

  /// Sends bytes, after those of earlier calls. It waits while too many of them have not been sent.
  ///
  /// - Throws: ``HTTPError`` of kind `connectionLost` if the peer takes no more, or after ``finish()``;
  ///   `CancellationError` after ``close()``. Bytes of earlier calls may be lost too.
  func write(_ bytes: Data) async throws

  /// Ends this direction after all bytes that were written. The peer may still send.
  func finish()

  /// Closes the connection. Bytes that were not sent are lost.
  func close()
}
