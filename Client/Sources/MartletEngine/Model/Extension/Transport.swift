/// Sends one request and returns its response.
///
/// A session's transport uses the network (sockets on Linux, URLSession on Apple's platforms) or is a mock. Implement a
/// transport around another one to *wrap* a request or *answer without the network*:
///
/// ```swift
/// struct OfflineSwitch: Transport {
///   let base: any Transport
///   let isOffline: @Sendable () -> Bool
///
///   func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse {
///     if isOffline() { throw HTTPError(.cannotConnect, "the application is in offline mode") }
///     return try await base.send(request, in: call)
///   }
/// }
/// ```
///
/// Which protocol to implement: `Transport` to *wrap a request, or answer without the network*; ``Interceptor`` to
/// *change requests, or decide to send them again*; ``EventListener`` *only to watch*.
///
/// A transport has to meet these requirements:
/// - It returns as soon as the head of the final response is received. The body is read later; until then the server
///   has to wait. An informational response (1xx) is an event and never the result.
/// - It does not follow redirects, answer challenges, or store cookies or responses: the engine does.
/// - It applies ``RequestOptions/responseTimeout`` and ``RequestOptions/idleTimeout``, and ends at once when the task
///   is cancelled. The engine applies ``RequestOptions/deadline``.
/// - It throws an ``HTTPError`` with a specific kind, whose message names host and phase. The session adds request,
///   response and attempts.
public protocol Transport: Sendable {
  /// Sends the request and returns the final response, whose body has not been read.
  func send(_ request: HTTPRequest, in call: Call) async throws -> HTTPResponse

  /// Closes connections that are kept for later requests, and returns when that is done. A transport around another one
  /// passes it on. By default it does nothing.
  func releaseConnections(_ which: ConnectionRelease) async
}

extension Transport {
  public func releaseConnections(_ which: ConnectionRelease) async {}
}

/// Which connections a transport gives up.
public enum ConnectionRelease: Sendable, Hashable {
  /// The ones that no request uses.
  case idle
  /// All: those that no request uses at once, the others after their last request. They get no further requests.
  case all
}
