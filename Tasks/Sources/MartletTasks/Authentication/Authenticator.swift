public import Martlet

/// Adds credentials to requests, and gets new ones after a 401.
///
/// ```swift
/// actor Account: Authenticator {
///   private var token: String?
///
///   func authorize(request: HTTPRequest) -> HTTPRequest {
///     var request = request
///     if let token { request.fields[.authorization] = "Bearer " + token }
///     return request
///   }
///
///   func authenticate() async throws {
///     token = nil                                        // logged out, unless this succeeds
///     let refresh = NetworkRequest(method: .POST).path("/account/refresh-token")
///     token = try await refresh.task(expecting: Token.self).value().text
///   }
/// }
/// ```
///
/// Requests that ``authenticate()`` itself sends through the session are not authorized, and a 401 does not
/// authenticate them again. For requests whose 401 is the response, such as a login, see
/// ``NetworkRequest/unauthenticated()``.
public protocol Authenticator: Sendable {
  /// Returns the request with credentials. Called before every attempt to the environment's origin, unless the request
  /// has its own `Authorization` field. If it throws, the task fails. Returns the request unchanged by default.
  func authorize(request: HTTPRequest) async throws -> HTTPRequest

  /// Gets new credentials after a 401. One call at a time runs for all requests that got a 401 in the meantime, and
  /// cancelling one of them does not cancel it; new requests wait for it. Afterwards each request is sent again once.
  ///
  /// - Throws: ``NetworkError/unauthenticated``, the default, if there are none: the 401 is then the response. Any
  ///   other error fails the tasks with an `HTTPError` of kind `.authenticationFailed`; an `HTTPError` about a failed
  ///   connection keeps its kind.
  func authenticate() async throws
}

extension Authenticator {
  /// Returns the request unchanged.
  public func authorize(request: HTTPRequest) async throws -> HTTPRequest { request }

  /// Throws ``NetworkError/unauthenticated``.
  public func authenticate() async throws { throw NetworkError.unauthenticated }
}

/// An authenticator without credentials.
public struct PassiveAuthenticator: Authenticator {
  /// Makes an authenticator without credentials.
  public init() {}
}
