/// Is told and asked what observers are, after all of them, unless one of them gave a final answer.
///
/// The session holds its delegate strongly until it is invalidated and its last task is over, as Foundation does: a delegate
/// that holds its session has to invalidate it. All methods have defaults; see ``SAPURLSessionEvents`` for the others.
public protocol SAPURLSessionDelegate: SAPURLSessionEvents {
  /// The session was invalidated, and its last task is over.
  func sapURLSession(_ session: SAPURLSession, didBecomeInvalidWithError error: (any Error)?)

  /// All events of a background session were delivered. Never called: there are no background sessions here.
  func sapURLSessionDidFinishEvents(forBackgroundURLSession session: SAPURLSession)

  /// The task is over, once, however often it was sent.
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
