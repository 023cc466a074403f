@_spi(Toolkit) import MartletSemantics
public import Martlet

/// Sends the requests of tasks with an `HTTPSession`.
///
/// Every attempt gets the headers of the ``NetworkEnvironment``, its signature, and the credentials of the
/// ``Authenticator``, in this order. After a 401 the authenticator gets new credentials, once for all requests refused
/// in the meantime, and each of them is sent again once. All of these are sent only to the environment's origin.
///
/// ```swift
/// Container.shared.networkSession = .single { StandardNetworkSession(decoder: ShopDecoder()) }
/// ```
///
/// Environment and authenticator are resolved when a request runs: replacing them in the container takes effect at
/// once.
///
/// Subclass it to replace it, as `MockSession` in `MartletTasksTesting` does. A subclass must protect its mutable state
/// with a lock.
/// SAFETY: all its properties are constants of `Sendable` types; an open class cannot declare that itself.
open class StandardNetworkSession: NetworkSession, @unchecked Sendable {
  public let decoder: any NetworkResponseDecoder
  private let environment: @Sendable () -> NetworkEnvironment
  private let session: HTTPSession

  /// Makes a session.
  ///
  /// - Parameters:
  ///   - decoder: decodes responses to requests without their own decoder; JSON by default.
  ///   - environment: base URL, common headers, signature; the container's by default.
  ///   - authenticator: adds credentials; the container's by default.
  ///   - configuration: cookies, cache, retries, listeners and more of the `HTTPSession`.
  ///   - transport: sends the requests; the platform's transport by default.
  public init(
    decoder: any NetworkResponseDecoder = JSONResponseDecoder(),
    environment: @escaping @Sendable () -> NetworkEnvironment = { Container.shared.environment() },
    authenticator: @escaping @Sendable () -> (any Authenticator)? = { Container.shared.authenticator() },
    configuration: SessionConfiguration = SessionConfiguration(), transport: any Transport = DefaultTransport()
  ) {
    self.decoder = decoder
    self.environment = environment
    let authentication = AuthenticatorSource(
      scope: .matching { $0 == environment().origin }, authenticator: authenticator)
    var configuration = configuration
    configuration.interceptors.append(EnvironmentInterceptor(environment: environment))
    configuration.credentials.append(authentication)
    session = HTTPSession(transport: transport, configuration: configuration)
  }

  open func response(to request: NetworkRequest) async -> NetworkResponse<Data> {
    do throws(HTTPError) {
      var rendered = try request.rendered(in: environment())
      if !request.isAuthenticated { rendered.options.usesCredentials = false }
      let (data, response) = try await session.data(for: rendered)
      return NetworkResponse(result: .success(data), data: data, response: response)
    } catch { return NetworkResponse(failure: error) }
  }
}

/// The common parts of requests to one deployment of a service, such as production or a test system.
///
/// ```swift
/// Container.shared.environment = .single {
///   NetworkEnvironment(baseURL: URL(string: "https://api.example.com/v2"), headers: ["X-Api-Key": key])
/// }
/// ```
///
/// Headers, signature and credentials are sent only to the origin of ``baseURL``.
public struct NetworkEnvironment: Sendable {
  /// The base of all paths: `https://api.example.com/v2`. If it is nil, a request needs its own base URL.
  public var baseURL: URL? { didSet { base = baseURL.flatMap { RequestBase($0) } } }
  /// Headers of every request that does not set them itself. None by default.
  public var headers: HTTPFields
  /// Signs every request, after the headers were added and before credentials are. None by default.
  public var signer: (any RequestSigner)?

  /// Makes an environment.
  public init(baseURL: URL? = nil, headers: HTTPFields = [:], signer: (any RequestSigner)? = nil) {
    self.baseURL = baseURL
    self.headers = headers
    self.signer = signer
    base = baseURL.flatMap { RequestBase($0) }
  }

  /// The parts of ``baseURL``; nil without one, or if it has no host.
  private(set) var base: RequestBase?

  var origin: Origin? { base?.origin }

  /// Whether the request goes to the origin of ``baseURL``.
  func isOrigin(of request: HTTPRequest) -> Bool { origin.map { $0 == request.origin } ?? false }
}

extension NetworkEnvironment: CustomReflectable {
  /// A mirror without secrets: without user information and query of the URL, and only with headers that may be shown.
  public var customMirror: Mirror {
    Mirror(self, children: ["baseURL": baseURL?.redacted as Any, "headers": headers, "signer": signer as Any])
  }
}

/// Signs requests, for example with an HMAC of some of their parts.
public protocol RequestSigner: Sendable {
  /// Returns the request with its signature. Called before every attempt, so that a retry gets a new one; the request
  /// has its common headers and no credentials yet. If it throws, the task fails.
  func sign(request: HTTPRequest) async throws -> HTTPRequest
}

/// Adds the environment's headers and signature.
struct EnvironmentInterceptor: Interceptor {
  let environment: @Sendable () -> NetworkEnvironment
  let stages = InterceptorStages.prepare

  func prepare(_ request: HTTPRequest, in call: Call) async throws -> Preparation {
    let environment = environment()
    guard !environment.headers.isEmpty || environment.signer != nil, let url = environment.baseURL,
      environment.isOrigin(of: request)
    else { return .send(request) }
    let prepared = try await DefaultFieldsInterceptor(environment.headers, for: [url]).prepare(request, in: call)
    guard let signer = environment.signer, case .send(let request) = prepared else { return prepared }
    return .send(try await signer.sign(request: request))
  }
}
