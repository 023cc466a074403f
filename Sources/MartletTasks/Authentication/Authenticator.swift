public import Martlet

/// Says who makes the requests, and finds that out anew when a server does not believe it.
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
///     token = try await NetworkRequest(method: .POST).path("/account/refresh-token").task(expecting: Token.self).value().text
///   }
/// }
/// ```
///
/// What ``authenticate()`` itself sends through the session is neither authorized nor, on a 401, authenticated again: it
/// does not wait for itself. For requests such as a login, whose 401 is an answer, see ``NetworkRequest/unauthenticated()``.
public protocol Authenticator: Sendable {
  /// Returns the request with what says who makes it. Called before every attempt to the environment's origin, unless the
  /// request has an `Authorization` of its own. Throwing ends the exchange. Does nothing by default.
  func authorize(request: HTTPRequest) async throws -> HTTPRequest

  /// Gets new credentials, after a 401. It runs once at a time, for all who were refused meanwhile, and is not cancelled
  /// with any of them; requests that come meanwhile wait. Afterwards each goes again once.
  ///
  /// - Throws: ``NetworkError/unauthenticated`` where there are none to be had, which leaves the 401 as it is: the silent
  ///   logout, and the default. Any other error fails the tasks with an `HTTPError` of kind `.authenticationFailed`, or of
  ///   its own kind if it is an `HTTPError` that tells of a missing network.
  func authenticate() async throws
}

extension Authenticator {
  /// Leaves the request as it is.
  public func authorize(request: HTTPRequest) async throws -> HTTPRequest { request }

  /// Has no credentials.
  public func authenticate() async throws { throw NetworkError.unauthenticated }
}

/// Authorizes nothing.
public struct PassiveAuthenticator: Authenticator {
  /// Makes one.
  public init() {}
}
