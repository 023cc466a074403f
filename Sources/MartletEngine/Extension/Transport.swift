/// Turns one request into one response.
///
/// The transport at the bottom of a session is the wire (libcurl on Linux, URLSession on Apple's platforms) or a
/// mock. Whatever must *wrap* an exchange, or *answer without the network*, is a transport around a transport:
///
/// ```swift
/// struct OfflineSwitch: Transport {
///   let base: any Transport
///   let isOffline: @Sendable () -> Bool
///
///   func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse {
///     if isOffline() { throw HTTPError(.cannotConnect, "the application is in offline mode") }
///     return try await base.send(request, in: exchange)
///   }
/// }
/// ```
///
/// Choose once: *wraps, or answers without the network* → `Transport`; *changes what goes out, or decides to go
/// again* → ``Interceptor``; *only watches* → ``EventListener``.
///
/// What a transport owes its callers:
/// - It returns as soon as the head of the final response is there; the body is pulled later, and a reader that
///   takes nothing makes the sender wait. An informational response (1xx) is an event, never the response.
/// - It follows no redirect, answers no challenge, keeps no cookie and no cache: those are the engine's.
/// - It obeys ``RequestOptions/responseTimeout`` and ``RequestOptions/idleTimeout``, and ends at once when the
///   task is cancelled. The total deadline is the engine's.
/// - It throws an ``HTTPError`` whose kind a user can act on, and whose message names host and phase. The session
///   adds request, response and attempts.
public protocol Transport: Sendable {
  /// Sends the request and returns the final response's head, its body still to be read.
  func send(_ request: HTTPRequest, in exchange: Exchange) async throws -> HTTPResponse
}
