@_spi(Transports) public import MartletSemantics

/// Both directions of a connection that is no longer used for HTTP, as bytes. Either the server has switched to the
/// protocol in the request's `Upgrade` (101, RFC 9110 §7.8), or a proxy has opened a tunnel (a 2xx to CONNECT, §9.3.6).
/// Over HTTP/2 it is one stream of the connection (RFC 8441).
///
/// One task may read while another one writes. If a task is cancelled while it writes, the stream is closed; a read
/// ends only with the stream. The release of the last reference closes it. None of the request's timeouts applies.
@_spi(Transports) public protocol DuplexStream: AnyObject, Sendable {
  /// Returns the next bytes, at least one; nil after the peer has ended its direction. The peer has to wait while there
  /// is no read in progress.
  ///
  /// - Parameter missing: how many more bytes the reader is known to need, so that a waiting thread is not woken for
  ///   only some of them. 0 if it needs none, or does not know.
  /// - Throws: ``HTTPError`` of kind `connectionLost`, even if TLS ends without `close_notify`; `CancellationError`
  ///   after ``close()``.
  func read(missing: Int) async throws -> Data?

  /// Sends bytes after the bytes of earlier calls. It waits while too many bytes are unsent.
  ///
  /// - Throws: ``HTTPError`` of kind `connectionLost` if the peer takes no more, or after ``finish()``;
  ///   `CancellationError` after ``close()``. Bytes of earlier calls may be lost too.
  func write(_ bytes: Data) async throws

  /// Waits briefly for the answer to the bytes that were written, on the thread of a task that needs it next, if the
  /// peer has answered fast before. The task that reads the stream gets the bytes. If it runs on ``executor``, it has
  /// read them when this returns. Called before the task is suspended, because waking a thread takes longer than a
  /// fast answer.
  func awaitAnswer()

  /// Ends this direction after all bytes that were written. The peer may still send.
  func finish()

  /// Closes the connection, or the stream of HTTP/2. Unsent bytes are lost, except the bytes of a stream after
  /// ``finish()``.
  func close()

  /// Closes a stream of HTTP/2 once the written bytes are sent and the peer has ended its direction, or after a second
  /// at the latest. Called when both sides have sent everything. A stream that has a connection to itself closes it at
  /// once.
  func leave()

  /// Whether its connection has other users, too: it is a stream of HTTP/2.
  var isShared: Bool { get }

  /// The executor of the thread that receives the bytes, for a task that does little with them: it then gets them
  /// without a change of threads. nil if there is none.
  var executor: (any TaskExecutor)? { get }

  /// Runs an action when the session that opened the stream begins to shut down; at once if it already has.
  func whenShuttingDown(_ action: @escaping @Sendable () -> Void)
}

extension DuplexStream {
  /// Returns the next bytes, for a reader that does not know how many it needs.
  @_spi(Transports) public func read() async throws -> Data? { try await read(missing: 0) }

  /// Does nothing: the task is suspended at once.
  @_spi(Transports) public func awaitAnswer() {}

  /// Does nothing: most sessions are never shut down.
  @_spi(Transports) public func whenShuttingDown(_ action: @escaping @Sendable () -> Void) {}

  /// Closes the connection.
  @_spi(Transports) public func leave() { close() }

  /// False.
  @_spi(Transports) public var isShared: Bool { false }

  /// None.
  @_spi(Transports) public var executor: (any TaskExecutor)? { nil }
}
