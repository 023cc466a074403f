/// A type whose values may be copied for a session of another user.
public protocol OptionalCopying {
  /// Returns a copy without the state that belongs to one user; nil, the default, if it cannot be copied.
  func copy() -> Any?
}

extension OptionalCopying {
  /// Returns nil.
  public func copy() -> Any? { nil }
}

/// Observes and changes the requests and responses of a session: adds fields, answers challenges, sends requests again.
///
/// ```swift
/// final class TokenObserver: SAPURLSessionObserving {
///   func sapURLSession(
///     _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
///     completionHandler: @escaping (SAPURLSession.RequestDisposition) -> Void
///   ) {
///     var request = request
///     request.setValue(token, forHTTPHeaderField: "X-Token")
///     completionHandler(.allow(request))
///   }
/// }
/// session.register(TokenObserver())
/// ```
///
/// Observers are called in the order of registration, each after the previous one has answered. `.allow` continues with
/// the value that it carries. Any other answer is final, and the remaining observers and the delegate are not called.
/// If a request is sent again, an observer may be called several times for it. An observer is also called for requests
/// that observers make with the same session. To recognize them, mark their tasks in ``SAPURLSessionTask/context``.
///
/// See ``SAPURLSessionEvents`` for the methods that the delegate has as well. All have defaults.
public protocol SAPURLSessionObserving: SAPURLSessionEvents, OptionalCopying {
  /// The session was invalidated, and its last task has completed.
  func sapURLSession(
    _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
    completionHandler: @escaping @Sendable () -> Void)

  /// All events of a background session were delivered. Never called, because background sessions are not supported.
  func sapURLSessionDidFinishEvents(
    forBackgroundURLSession session: SAPURLSession, completionHandler: @escaping @Sendable () -> Void)

  /// The task has completed. This is called once for a task, however often its request was sent. `.cancel` fails the
  /// task with another error.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void)
}

extension SAPURLSessionObserving {
  /// Continues.
  public func sapURLSession(
    _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
    completionHandler: @escaping @Sendable () -> Void
  ) { completionHandler() }

  /// Continues.
  public func sapURLSessionDidFinishEvents(
    forBackgroundURLSession session: SAPURLSession, completionHandler: @escaping @Sendable () -> Void
  ) { completionHandler() }

  /// Continues.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) { completionHandler(.allow) }
}

/// The delegate of a session. Its methods are called after those of all observers, unless an observer gave a final
/// answer.
///
/// As in Foundation, the session holds its delegate strongly until it is invalidated and its last task has completed.
/// If the delegate holds the session, invalidate the session. All methods have defaults; see ``SAPURLSessionEvents``
/// for the others.
public protocol SAPURLSessionDelegate: SAPURLSessionEvents {
  /// The session was invalidated, and its last task has completed.
  func sapURLSession(_ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?)

  /// All events of a background session were delivered. Never called, because background sessions are not supported.
  func sapURLSessionDidFinishEvents(forBackgroundURLSession session: SAPURLSession)

  /// The task has completed. This is called once for a task, however often its request was sent.
  func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?)
}

extension SAPURLSessionDelegate {
  /// Does nothing.
  public func sapURLSession(_ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?) {}

  /// Does nothing.
  public func sapURLSessionDidFinishEvents(forBackgroundURLSession session: SAPURLSession) {}

  /// Does nothing.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?
  ) {}
}
