@_spi(Toolkit) import MartletSemantics

/// A session that a program can close: it begins no more calls, gives the calls in progress some time to end, and then
/// closes its connections.
///
/// ```swift
/// let http = ClosableSession(configuration: configuration)
/// try await serve(with: http.session)
/// await http.close(within: .seconds(10))
/// ```
///
/// Most programs need none: a transport closes its connections when nothing refers to it any more. Use it for a service
/// whose requests must not be cut off when it stops. Each call costs a little more than with a plain session, because
/// it can be cancelled from outside.
public final class ClosableSession: Sendable {
  /// The session. Its connections are closed when ``close(within:)`` has returned, unless the program holds the
  /// transport too.
  public let session: HTTPSession
  private let gate = CallGate()
  private let clock: any Clock<Duration>

  /// Makes a session on a transport. The module `Martlet` adds an initializer for the platform's own transport.
  public init(transport: any Transport, configuration: SessionConfiguration = .init()) {
    var configuration = configuration
    // First in the list, so that a refused call reaches no other interceptor.
    configuration.interceptors.insert(gate, at: 0)
    configuration.listeners.append(gate)
    session = HTTPSession(transport: ClosableTransport(transport, gate), configuration: configuration)
    clock = configuration.clock
  }

  /// Closes the session. It returns when no call is in progress, at the latest after the given time, or at once if its
  /// task is cancelled. Runs off the caller's actor.
  ///
  /// From now on, a new call fails with ``HTTPError/Kind/shutDown``. After the given time, requests and unread bodies
  /// still in progress fail with it too. Redirects and retries of calls in progress are still sent, and so are requests
  /// that they need, such as one for a token. Closing a closed session does nothing.
  ///
  /// WebSockets are closed at once, with the code 1001 (going away), and waited for like calls.
  ///
  /// - Parameter time: how long calls in progress may continue; 30 seconds by default. With zero they are cancelled at
  ///   once. ``SessionConfiguration/clock`` measures it.
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
