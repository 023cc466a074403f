#if ServiceLifecycle
public import Martlet
public import MartletEngine
public import ServiceLifecycle

/// A session that a `ServiceGroup` of swift-service-lifecycle ends: when the group shuts down, it is closed as
/// ``Martlet/ClosableSession/close(within:)`` says.
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
/// ``drainTime``. If the task of ``run()`` is cancelled, nothing is waited for.
///
/// The session can be used before ``run()`` has begun, and until the shutdown.
public final class HTTPSessionService: Service {
  /// The session. Its connections are closed when the service has ended, unless the program has the transport too.
  public var session: HTTPSession { closable.session }
  /// The longest time in which calls may end after the shutdown has begun; 30 seconds by default.
  public let drainTime: Duration
  private let closable: ClosableSession

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
    closable = ClosableSession(transport: transport, configuration: configuration)
    self.drainTime = drainTime
  }

  /// Waits for the graceful shutdown, and then for the calls in progress.
  public func run() async throws {
    do {
      try await gracefulShutdown()
    } catch {  // the task was cancelled
      await closable.close(within: .zero)
      throw error
    }
    await closable.close(within: drainTime)
  }
}
#endif
