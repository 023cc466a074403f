public import Foundation

#if canImport(FoundationNetworking)
public import FoundationNetworking
#endif

/// An observer to subclass: the compiler then checks what it cannot check where all methods have defaults.
///
/// ```swift
/// final class TokenObserver: SAPURLSessionObserver {
///   override func sapURLSession(
///     _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
///     completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
///   ) {
///     var request = request
///     request.setValue(token, forHTTPHeaderField: "X-Token")
///     completionHandler(.allow(request))
///   }
/// }
/// ```
///
/// A misspelled method, a `dataTask:` that should be a `task:`, is an error: it overrides nothing. Conforming to
/// ``SAPURLSessionObserving`` itself works as well, and says nothing then.
open class SAPURLSessionObserver: SAPURLSessionObserving {
  /// Makes an observer that lets everything pass.
  public init() {}

  open func copy() -> Any? { nil }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willBeginDelayedRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.DelayedRequestDisposition) -> Void
  ) { completionHandler(.continueLoading) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willSend request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.RequestDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  open func sapURLSession(_ session: SAPURLSession, task: SAPURLSessionTask, didCreate sessionTask: URLSessionTask) {}

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (SAPURLSession.ResponseDisposition) -> Void
  ) { completionHandler(.allow(response)) }

  open func sapURLSession(
    _ session: SAPURLSession, dataTask task: SAPURLSessionTask, didReceive data: Data,
    completionHandler: @escaping @Sendable (SAPURLSession.DataDisposition) -> Void
  ) { completionHandler(.allow(data)) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (SAPURLSession.HTTPRedirectDisposition) -> Void
  ) { completionHandler(.allow(request)) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (SAPURLSession.AuthChallengeDisposition) -> Void
  ) { completionHandler(.performDefaultHandling) }

  open func sapURLSession(
    _ session: SAPURLSession, task: SAPURLSessionTask, didCompleteWithError error: (any Error)?,
    completionHandler: @escaping @Sendable (SAPURLSession.CancellableDisposition) -> Void
  ) { completionHandler(.allow) }
}
