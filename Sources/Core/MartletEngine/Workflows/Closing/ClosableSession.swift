import MartletSemantics

/// A session that a program ends: it begins no more calls, lets those in progress end for a time, and then closes its
/// connections.
///
/// ```swift
/// let http = ClosableSession(configuration: configuration)
/// try await serve(with: http.session)
/// await http.close(within: .seconds(10))
/// ```
///
/// Most programs need none: a transport closes its connections when nothing refers to it any more. One is for a service
/// whose requests must not be cut off when it stops. Each call costs a little more than one of a plain session, because it
/// can be cancelled from outside.
public final class ClosableSession: Sendable {
  /// The session. Its connections are closed when ``close(within:)`` has returned, unless the program has the transport
  /// too.
  public let session: HTTPSession
  private let gate = CallGate()
  private let clock: any Clock<Duration>

  /// Makes a session on a transport. With `Martlet` there is one for the platform's own transport too.
  public init(transport: any Transport, configuration: SessionConfiguration = .init()) {
    var configuration = configuration
    // first of all, so that a call that is refused asks no other interceptor
    configuration.interceptors.insert(gate, at: 0)
    configuration.listeners.append(gate)
    session = HTTPSession(transport: ClosableTransport(transport, gate), configuration: configuration)
    clock = configuration.clock
  }

  /// Ends the session. It returns when no call is in progress, at the latest after the given time, or at once if its task
  /// is cancelled.
  ///
  /// From now on, a new call fails with ``HTTPError/Kind/shutDown``, and after that time so does what is in progress:
  /// requests, and responses whose body is not read to its end. Redirects and retries of calls in progress are still sent,
  /// and so are requests that they need, such as one for a token. To close a closed session does nothing.
  ///
  /// Connections that were upgraded, such as those of WebSocket, are neither waited for nor closed: whoever has them ends
  /// them.
  ///
  /// - Parameter time: how long calls in progress may go on; 30 seconds by default, with zero they are cancelled at once.
  ///   It is measured by ``SessionConfiguration/clock``.
  @concurrent public func close(within time: Duration = .seconds(30)) async {
    gate.drain()
    await withTaskGroup(of: Void.self) { [clock, gate] group in
      group.addTask { await gate.waitUntilEmpty() }
      group.addTask { try? await clock.sleep(for: time.bounded) }
      _ = await group.next()
      group.cancelAll()
    }
    gate.close()
  }
}
