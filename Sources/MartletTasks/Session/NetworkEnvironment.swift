public import Martlet

/// What requests have in common at one place of the world: production, a test system.
///
/// ```swift
/// Container.shared.environment = .single {
///   NetworkEnvironment(baseURL: URL(string: "https://api.example.com/v2"), headers: ["X-Api-Key": key])
/// }
/// ```
///
/// Headers, signature and authorization are for the origin of ``baseURL`` alone: a request or a redirect to another one
/// goes without.
public struct NetworkEnvironment: Sendable {
  /// Where paths begin: `https://api.example.com/v2`. Without one, a request needs a URL of its own.
  public var baseURL: URL?
  /// Headers of every request, where it has none of that name. None by default.
  public var headers: HTTPFields
  /// What signs every request, after the headers were added and before it is authorized. None by default.
  public var signer: (any RequestSigner)?

  /// Makes an environment.
  public init(baseURL: URL? = nil, headers: HTTPFields = [:], signer: (any RequestSigner)? = nil) {
    self.baseURL = baseURL
    self.headers = headers
    self.signer = signer
  }

  var origin: Origin? { baseURL.flatMap { Origin($0) } }
}

/// Puts a proof on requests that they come from this app: an HMAC of some of their parts, say.
public protocol RequestSigner: Sendable {
  /// Returns the request with its signature. Called before every attempt, so that a retry gets a new one; the request has
  /// its common headers and no authorization yet. Throwing ends the exchange.
  func sign(request: HTTPRequest) async throws -> HTTPRequest
}

/// Adds the environment's headers, and then its signature.
struct EnvironmentInterceptor: Interceptor {
  let environment: @Sendable () -> NetworkEnvironment

  func prepare(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPRequest {
    let environment = environment()
    guard let url = environment.baseURL, let origin = environment.origin, Origin(request.url) == origin else {
      return request
    }
    let request = try await DefaultFieldsInterceptor(environment.headers, for: [url]).prepare(request, in: exchange)
    return try await environment.signer?.sign(request: request) ?? request
  }
}
