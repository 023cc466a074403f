/// Can be copied, for a session of another user; nil where it cannot.
public protocol OptionalCopying {
  /// A copy without the state that belongs to one user; nil, the default, where there is none.
  func copy() -> Any?
}

extension OptionalCopying {
  /// There is no copy.
  public func copy() -> Any? { nil }
}

/// Watches and changes what a session does: adds fields, answers challenges, sends again.
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
/// Observers are asked in the order of registration, each when the one before it has answered. `.allow` goes on with the
/// value that it carries; any other answer is final, and the remaining observers and the delegate are not asked. One
/// observer can be asked several times for a request that is sent again, and for requests that observers make themselves
/// through the same session: mark those in ``SAPURLSessionTask/context`` to let them pass.
///
/// See ``SAPURLSessionEvents`` for the methods that the delegate has too. All have defaults.
public protocol SAPURLSessionObserving: SAPURLSessionEvents, OptionalCopying {
  /// The session was invalidated, and its last task is over.
  func sapURLSession(
    _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
    completionHandler: @escaping @Sendable () -> Void)

  /// All events of a background session were delivered. Never called: there are no background sessions here.
  func sapURLSessionDidFinishEvents(
    forBackgroundURLSession session: SAPURLSession, completionHandler: @escaping @Sendable () -> Void)

  /// The task is over, once, however often it was sent. `.cancel` puts another error in the place of the result.
  func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void)
}

extension SAPURLSessionObserving {
  /// Goes on.
  public func sapURLSession(
    _ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?,
    completionHandler: @escaping @Sendable () -> Void
  ) { completionHandler() }

  /// Goes on.
  public func sapURLSessionDidFinishEvents(
    forBackgroundURLSession session: SAPURLSession, completionHandler: @escaping @Sendable () -> Void
  ) { completionHandler() }

  /// Goes on.
  public func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) { completionHandler(.allow) }
}
