#if ServiceLifecycle
public import Martlet
public import MartletEngine
import MartletSemantics
public import ServiceLifecycle

/// A session that a `ServiceGroup` of swift-service-lifecycle ends: when the group shuts down, it begins no more calls, lets those
/// in progress end for a time, and then closes its connections.
///
/// ```swift
/// let http = HTTPSessionService(configuration: configuration)
/// let app = App(http.session)
/// let group = ServiceGroup(services: [http, app], gracefulShutdownSignals: [.sigterm], logger: logger)
///
/// try await group.run()
/// ```
///
/// A group shuts services down in reverse order: list the service before those that use its session.
///
/// From the shutdown on, a new call fails with ``Martlet/HTTPError/Kind/shutDown``, and so does what is in progress after
/// ``drainTime``: requests and responses whose body is not read to its end. Redirects and retries of calls in progress are
/// still sent, and so are requests that they need, such as one for a token. If the task of ``run()`` is cancelled, nothing is
/// waited for.
///
/// Connections that were upgraded, such as those of WebSocket, are neither waited for nor closed: whoever has them ends them.
///
/// The session can be used before ``run()`` has begun, and until the shutdown.
public final class HTTPSessionService: Service {
  /// The session. Its connections are closed when the service has ended, unless the program has the transport too.
  public let session: HTTPSession
  /// The longest time in which calls may end after the shutdown has begun; 30 seconds by default.
  public let drainTime: Duration
  private let gate: CallGate
  private let clock: any Clock<Duration>

  /// Makes a service and its session.
  ///
  /// - Parameters:
  ///   - transport: the session's transport; by default one of its own, with default settings.
  ///   - configuration: all else of the session.
  ///   - drainTime: the longest time in which calls may end after the shutdown has begun.
  public init(
    transport: any Transport = DefaultTransport(), configuration: SessionConfiguration = .init(),
    drainTime: Duration = .seconds(30)
  ) {
    let gate = CallGate()
    var configuration = configuration
    // first of all, so that a call that is refused asks no other interceptor
    configuration.interceptors.insert(gate, at: 0)
    configuration.listeners.append(gate)
    session = HTTPSession(transport: ClosableTransport(transport, gate), configuration: configuration)
    clock = configuration.clock
    self.gate = gate
    self.drainTime = drainTime
  }

  /// Waits for the graceful shutdown, and then for the calls in progress.
  public func run() async throws {
    defer { gate.close() }
    // an error says that the task was cancelled
    try await gracefulShutdown()
    gate.drain()
    await withTaskGroup(of: Void.self) { [clock, drainTime, gate] group in
      group.addTask { await gate.waitUntilEmpty() }
      group.addTask { try? await clock.sleep(for: drainTime) }
      _ = await group.next()
      group.cancelAll()
    }
  }
}
#endif
