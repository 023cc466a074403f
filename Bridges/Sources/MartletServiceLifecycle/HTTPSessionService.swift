#if ServiceLifecycle
public import Martlet
public import MartletEngine
public import ServiceLifecycle

/// A session for a `ServiceGroup` of swift-service-lifecycle: when the group shuts down, it is closed with
/// ``Martlet/ClosableSession/close(within:)``.
///
/// ```swift
/// let http = HTTPSessionService(configuration: configuration)
/// let app = App(http.session)
/// let group = ServiceGroup(services: [http, app], gracefulShutdownSignals: [.sigterm], logger: logger)
///
/// try await group.run()
/// ```
///
/// A group shuts services down in reverse order: list this service before the services that use its session.
///
/// From the shutdown on, a new call fails with ``Martlet/HTTPError/Kind/shutDown``, and so does everything still in
/// progress after ``drainTime``. If the task of ``run()`` is cancelled, it waits for nothing.
///
/// The session can be used before ``run()`` has begun, and until the shutdown.
public final class HTTPSessionService: Service {
  /// The session. Its connections are closed when the service has ended, unless the program also holds the transport.
  public var session: HTTPSession { closable.session }
  /// How long calls may continue after the shutdown has begun; 30 seconds by default.
  public let drainTime: Duration
  private let closable: ClosableSession

  /// Makes a service and its session.
  ///
  /// - Parameters:
  ///   - transport: the session's transport; by default its own, with default settings.
  ///   - configuration: the rest of the session's configuration.
  ///   - drainTime: how long calls may continue after the shutdown has begun.
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
    } catch {  // The task was cancelled.
      await closable.close(within: .zero)
      throw error
    }
    await closable.close(within: drainTime)
  }
}
#endif
