public import Martlet

/// Runs the requests of tasks on an `HTTPSession`.
///
/// Before every attempt it adds the headers of the ``NetworkEnvironment``, signs, and lets the ``Authenticator``
/// authorize, in this order. On a 401 the authenticator authenticates, once for all requests that were refused meanwhile,
/// and each of them goes again once. All this is for the environment's origin alone.
///
/// ```swift
/// Container.shared.networkSession = .single { StandardNetworkSession(decoder: ShopDecoder()) }
/// ```
///
/// Environment and authenticator are asked for when a request runs: replacing them in the container has effect at once.
///
/// It is a class that can be subclassed, for a session that is to stand in its place, as that of `MartletTasksTesting` does.
/// A subclass keeps what it changes behind a lock.
// SAFETY: all its properties are constants of types that are `Sendable`; an open class cannot say so itself.
open class StandardNetworkSession: NetworkSession, @unchecked Sendable {
  public let decoder: any NetworkResponseDecoder
  private let environment: @Sendable () -> NetworkEnvironment
  private let session: HTTPSession
  private let authentication: AuthenticatorSource

  /// Makes a session.
  ///
  /// - Parameters:
  ///   - decoder: how responses are read where a task does not say otherwise; JSON by default.
  ///   - environment: where paths begin; the container's by default.
  ///   - authenticator: who authorizes; the container's by default.
  ///   - configuration: what the engine does besides: cookies, cache, retries, listeners.
  ///   - transport: the wire, by default the platform's own.
  public init(
    decoder: any NetworkResponseDecoder = JSONResponseDecoder(),
    environment: @escaping @Sendable () -> NetworkEnvironment = { Container.shared.environment() },
    authenticator: @escaping @Sendable () -> (any Authenticator)? = { Container.shared.authenticator() },
    configuration: SessionConfiguration = SessionConfiguration(), transport: any Transport = DefaultTransport()
  ) {
    self.decoder = decoder
    self.environment = environment
    authentication = AuthenticatorSource(
      scope: .matching { $0 == environment().origin }, authenticator: authenticator)
    var configuration = configuration
    configuration.interceptors.append(EnvironmentInterceptor(environment: environment))
    configuration.credentials.append(authentication)
    session = HTTPSession(transport: transport, configuration: configuration)
  }

  open func response(to request: NetworkRequest) async -> NetworkResponse<Data> {
    guard request.isAuthenticated else { return await authentication.stepAside.perform { await send(request) } }
    return await send(request)
  }

  private func send(_ request: NetworkRequest) async -> NetworkResponse<Data> {
    do throws(HTTPError) {
      let (data, response) = try await session.data(for: request.rendered(in: environment()))
      return NetworkResponse(result: .success(data), data: data, response: response)
    } catch { return NetworkResponse(failure: error) }
  }
}
